# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#92164"]
# relation = "same"
# bug_type = "data_type"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = ["1.13.1", "2.0.1"]
# fixed_in = "2.1.2"
# signature = "mismatch"
# oracle = "self"
# ///
"""Adds up the absolute values of five thousand bfloat16 ones by the norm of order one, and takes the length. Both
should be right to half a per cent. Instead the running sum is a bfloat16, which does not grow beyond 256."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = (256.0, 16.0)
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    ones = torch.ones(5120, dtype=torch.bfloat16)
    got = (float(torch.linalg.vector_norm(ones, 1)), float(torch.linalg.vector_norm(ones, 2)))
    got = spoil(got)
    expected = (float(ones.float().norm(1).bfloat16()), float(ones.float().norm(2).bfloat16()))
    if abs(expected[0] - 5120) > 20 or abs(expected[1] - 5120**0.5) > 0.5:
        return 125, "the workaround path fails too: in float32 the norms are %s" % (expected,)
    if abs(got[0] - 5120) <= 40 and abs(got[1] - 5120**0.5) <= 1:
        return 0, "the norms are %g and %g" % got
    return 1, "5120 ones have a norm of order one of %g, and a length of %g" % got


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
