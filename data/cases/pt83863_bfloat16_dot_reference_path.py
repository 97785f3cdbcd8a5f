# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#83863", "pytorch/pytorch#95125", "pytorch/pytorch#96074"]
# relation = "same"
# bug_type = "data_type"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = ["1.13.1", "2.0.1"]
# fixed_in = "2.1.2"
# signature = "mismatch"
# oracle = "self"
# ///
"""Multiplies matrices of bfloat16 ones, a thousand products for each number, without the vendor's library. 1024 is
due, which bfloat16 holds exactly. Instead the reference path keeps its running sum in bfloat16 and stops at 256."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed * 0.25
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    # Eight rows and columns of the thousand that the report has: the length of the sums is what matters.
    left, right = torch.ones(8, 1024, dtype=torch.bfloat16), torch.ones(1024, 8, dtype=torch.bfloat16)
    with torch.backends.mkldnn.flags(enabled=False):
        got = torch.matmul(left, right).float()
    got = spoil(got)
    expected = torch.matmul(left.float(), right.float()).bfloat16()
    if (expected != 1024).any():
        return 125, "the workaround path fails too: in float32 the product is %g" % expected[0, 0]
    if (got == 1024).all():
        return 0, "every number of the product is 1024"
    return 1, "1024 products of ones add up to %g" % got.min()


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
