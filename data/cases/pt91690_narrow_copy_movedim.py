# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#91690"]
# relation = "same"
# bug_type = "memory"
# memory_type = "non_contiguous"
# memory_subtype = "input_tensor_management"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = ["1.13.1"]
# fixed_in = "2.0.1"
# signature = "mismatch"
# oracle = "self"
# ///
"""Copies a slice of a matrix whose axes were swapped. The copy must hold what the view of the same slice shows.
Instead the kernel copies runs of memory as if the matrix were dense."""

import os
import sys


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

    matrix = torch.arange(24.0).reshape(2, 3, 4).movedim(-1, 0)
    got = torch.narrow_copy(matrix, 1, 0, 2)
    got = spoil(got)
    expected = torch.narrow_copy(matrix.contiguous(), 1, 0, 2)
    truth = matrix.narrow(1, 0, 2)
    if not torch.equal(expected, truth):
        return 125, "the workaround path fails too: the copy of a dense matrix is wrong"
    if torch.equal(got, truth):
        return 0, "the copied slice of the swapped matrix is right"
    return 1, "the copied slice of the swapped matrix is " + where_off(got, truth)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
