# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#133520", "pytorch/pytorch#133610"]
# relation = "sibling"
# bug_type = "memory"
# memory_type = "non_contiguous"
# memory_subtype = "input_tensor_management"
# consequence = "silent_correctness"
# requires = ["mps"]
# known_bad = []
# signature = "mismatch"
# oracle = "self"
# ///
"""Runs batch normalisation in evaluation on a range of channels of a bigger tensor. The channels of the range must
be normalised. Instead others are read."""

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
    parent = torch.randn(2, 8, 4, 4)
    mean, variance = torch.rand(4), torch.rand(4) + 1

    def run(x):
        return torch.nn.functional.batch_norm(x, mean.to(x.device), variance.to(x.device)).cpu()

    part = parent.to(DEVICE)[:, 4:]
    truth = run(parent[:, 4:].contiguous())
    expected = run(part.clone())
    if not torch.allclose(expected.float(), truth.float(), atol=1e-3):
        return 125, "the workaround path fails too: a dense copy gives wrong numbers"
    got = run(part)
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
