# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#91830"]
# relation = "same"
# bug_type = "logical"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = ["1.13.1"]
# fixed_in = "2.0.1"
# signature = "mismatch"
# oracle = "self"
# ///
"""Resizes a compressed sparse matrix from two by two to three by four and asks for its number of elements. Twelve is
due. Instead the number from before is returned."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = 4
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    matrix = torch.ones(2, 2).to_sparse_csr()
    matrix.resize_((3, 4))
    got = matrix.numel()
    got = spoil(got)
    fresh = torch.ones(3, 4).to_sparse_csr()
    if tuple(matrix.shape) != (3, 4) or fresh.numel() != 12:
        return 125, "the workaround path fails too: a fresh matrix has %d elements" % fresh.numel()
    if got == 12:
        return 0, "3 x 4 has 12 elements"
    return 1, "after a resize to 3 x 4 the matrix counts %d elements" % got


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
