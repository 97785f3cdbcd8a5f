# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#70904"]
# relation = "sibling"
# bug_type = "data_type"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = ["1.13.1", "2.0.1"]
# fixed_in = "2.1.2"
# signature = "mismatch"
# oracle = "self"
# ///
"""Shifts integers by at least as many bits as they have. To the left zero is due and to the right the sign, as in
NumPy. Instead the behaviour of the processor shows: the count is taken modulo the width, and blocks and remainders
of a vector differ."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = [1] * 9
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    ones, minus = torch.ones(9, dtype=torch.int64), torch.full((9,), -8, dtype=torch.int64)
    left, right = (ones << 64).tolist(), (minus >> 70).tolist()
    left = spoil(left)
    if (ones << 63).tolist() != [-(2**63)] * 9 or (minus >> 2).tolist() != [-2] * 9:
        return 125, "the workaround path fails too: shifts within the width are wrong"
    if left == [0] * 9 and right == [-1] * 9:
        return 0, "shifts beyond the width give zero and the sign"
    return 1, "1 << 64 gives %s, -8 >> 70 gives %s" % (left, right)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
