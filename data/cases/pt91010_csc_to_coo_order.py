# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#91010"]
# relation = "same"
# bug_type = "logical"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = ["1.13.1"]
# fixed_in = "2.0.1"
# signature = "mismatch"
# oracle = "self"
# ///
"""Converts a matrix from compressed columns to coordinates. A result that calls itself coalesced must list its
coordinates row by row. Instead they are in the order of the columns."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = (True, [[0, 0], [1, 0], [0, 1]])
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    dense = torch.tensor([[1.0, 2.0], [3.0, 0.0]])
    converted = dense.to_sparse_csc().to_sparse()
    got = (converted.is_coalesced(), converted._indices().t().tolist())
    got = spoil(got)
    claims, order = got
    straight = dense.to_sparse()
    if straight.indices().t().tolist() != [[0, 0], [0, 1], [1, 0]] or not torch.equal(converted.to_dense(), dense):
        return 125, "the workaround path fails too: the conversion from dense is wrong"
    if not claims or order == sorted(order):
        return 0, "coalesced: %s, coordinates %s" % (claims, order)
    return 1, "called coalesced, but the coordinates are %s" % order


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
