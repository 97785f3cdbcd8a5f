# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#76891"]
# relation = "same"
# bug_type = "memory"
# memory_type = "non_contiguous"
# memory_subtype = "input_tensor_management"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Subtracts the first column of a matrix from the matrix in place. The column is read through a broadcast view of the
matrix itself, so NumPy copies it first, and zeros are due. Instead elements are overwritten while they are still
needed: the first blocks are right, the rest is not."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed[:, 5] = 3
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    matrix = torch.full((2, 17), 3.0)
    matrix -= matrix[:, :1]
    got = matrix.clone()
    got = spoil(got)
    other = torch.full((2, 17), 3.0)
    other -= other[:, :1].clone()
    if bool((other != 0).any()):
        return 125, "the workaround path fails too: a copied column leaves %g" % float(other.abs().max())
    left = int((got != 0).sum())
    if not left:
        return 0, "every element is zero"
    return 1, "%d of 34 elements are not zero" % left


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
