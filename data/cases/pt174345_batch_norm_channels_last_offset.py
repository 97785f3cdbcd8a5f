# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#174345"]
# relation = "same"
# bug_type = "memory"
# memory_type = "memory_format"
# memory_subtype = "channel_management"
# consequence = "silent_correctness"
# requires = ["mps"]
# known_bad = []
# signature = "mismatch"
# oracle = "self"
# ///
"""Drops the first token of a sequence, views the rest as channels-last images and normalises them. The numbers must
be those of a dense copy. Instead they are wrong as soon as a channels-last tensor begins inside its storage."""

import os
import sys

DEVICE = "mps"


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed + 1
    return observed


def where_off(got, expected):
    """Say by how much got differs from expected, and where most."""
    off = (got.detach().cpu().double() - expected.detach().cpu().double()).abs().nan_to_num(float("inf"))
    at, place = int(off.argmax()), []
    for size in reversed(off.shape):
        place.insert(0, at % size)
        at //= size
    return "off by up to %g at %s" % (off.max(), tuple(place))


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    if not torch.backends.mps.is_available():
        return 125, "no MPS device here"
    torch.manual_seed(0)
    tokens = torch.randn(2, 17, 8)
    mean, variance = torch.rand(8), torch.rand(8) + 1

    def run(x):
        return torch.nn.functional.batch_norm(x, mean.to(x.device), variance.to(x.device)).cpu()

    def images(x):
        return x[:, 1:].reshape(2, 4, 4, 8).permute(0, 3, 1, 2)

    flat = tokens.to(DEVICE)
    one = flat[:1, 1:].view(1, 4, 4, 8).permute(0, 3, 1, 2)
    truth = run(images(tokens).contiguous())[:1]
    expected = run(one.contiguous())
    if not torch.allclose(expected.float(), truth.float(), atol=1e-3):
        return 125, "the workaround path fails too: a dense copy gives wrong numbers"
    got = run(one)
    got = spoil(got)
    if torch.allclose(got.float(), truth.float(), atol=1e-3):
        return 0, "the numbers agree with the CPU"
    return 1, "the result is " + where_off(got.float(), truth.float())


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
