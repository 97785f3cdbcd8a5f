# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#89420"]
# relation = "sibling"
# bug_type = "data_type"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = ["1.13.1", "2.0.1"]
# fixed_in = "2.1.2"
# signature = "mismatch"
# oracle = "self"
# ///
"""Adds a batch of int8 products to a float64 batch of halves. The types should be promoted, or refused as on other
devices. Instead the summand is cut to int8, and the halves are gone."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        import torch

        observed = torch.full((1, 2, 2), 3, dtype=torch.int8)
    return observed


def is_refusal(error):
    """True where error is the refusal that is due here, by its type and its words."""
    return isinstance(error, RuntimeError) and "dtypes must be the same" in str(error)


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    base = torch.full((1, 2, 2), 1.5, dtype=torch.float64)
    ones = torch.ones(1, 2, 2, dtype=torch.int8)
    expected = torch.baddbmm(base, ones.double(), ones.double())
    if expected.flatten().tolist() != [3.5] * 4:
        return 125, "the workaround path fails too: with one type the result is %s" % expected.flatten().tolist()
    try:
        got = torch.baddbmm(base, ones, ones)
    except RuntimeError as error:
        if not is_refusal(error):
            raise
        got = error
    got = spoil(got)
    if isinstance(got, Exception):
        return 0, "refused: %s" % str(got)[:80]
    if torch.equal(got.double(), expected):
        return 0, "the types are promoted"
    return 1, "1.5 + 2 gives %s of type %s" % (got.flatten()[0].item(), got.dtype)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
