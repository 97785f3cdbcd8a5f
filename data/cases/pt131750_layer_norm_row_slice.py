# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#131750"]
# relation = "same"
# bug_type = "memory"
# memory_type = "non_contiguous"
# memory_subtype = "input_tensor_management"
# consequence = "silent_correctness"
# requires = ["mps"]
# known_bad = []
# signature = "mismatch"
# oracle = "self"
# ///
"""Normalises a range of rows of a bigger matrix. The rows of the range must be normalised. Instead the first rows of
the parent are, because the kernel ignores where the slice begins."""

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
    norm = torch.nn.functional.layer_norm
    parent = torch.randn(8, 6) * torch.arange(1.0, 9.0)[:, None].exp()
    rows = parent.to(DEVICE)[4:]
    truth = norm(parent[4:], (6,))
    expected = norm(rows.clone(), (6,)).cpu()
    if not torch.allclose(expected.float(), truth.float(), atol=1e-3):
        return 125, "the workaround path fails too: a dense copy gives wrong numbers"
    got = norm(rows, (6,)).cpu()
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
