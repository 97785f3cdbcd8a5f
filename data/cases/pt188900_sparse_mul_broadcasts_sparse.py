# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#188900"]
# relation = "same"
# bug_type = "logical"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Multiplies a sparse matrix, with an axis of one behind its others, by dense ones that broadcast this axis to three.
The matrix should be repeated three times. Instead it stands in the first slice only, and the rest is zero."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed[..., 1:] = 0
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    matrix = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    ones = torch.ones(1, 1, 3)
    got = (matrix.to_sparse().unsqueeze(2) * ones).to_dense()
    got = spoil(got)
    expected = matrix.unsqueeze(2) * ones
    repeated = (torch.stack([matrix] * 3, 2).to_sparse() * ones).to_dense()
    if not torch.equal(expected, repeated) or expected.sum() != 30:
        return 125, "the workaround path fails too: a sparse tensor of full size gives another product"
    if torch.equal(got, expected):
        return 0, "the matrix is repeated three times"
    return 1, "the first row's product is %s instead of %s" % (got[0].tolist(), expected[0].tolist())


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
