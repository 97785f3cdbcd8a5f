# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#139242"]
# relation = "same"
# bug_type = "data_type"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Averages 512 bfloat16 numbers, half of them zero and half one, at a single index. One half is due. Instead the count
of the summands is kept in bfloat16 and ends at 256, so that the mean is one."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = 1.0
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    numbers = torch.tensor([0.0, 1.0], dtype=torch.bfloat16).repeat(256)
    index = torch.zeros(512, dtype=torch.long)
    got = float(torch.zeros(1, dtype=torch.bfloat16).index_reduce(0, index, numbers, "mean", include_self=False))
    got = spoil(got)
    expected = float(torch.zeros(1).index_reduce(0, index, numbers.float(), "mean", include_self=False))
    if expected != 0.5 or float(numbers.mean()) != 0.5:
        return 125, "the workaround path fails too: the float32 mean is %g" % expected
    if abs(got - 0.5) <= 2.0**-8:
        return 0, "the mean is %g" % got
    return 1, "the mean of 256 zeros and 256 ones is %g" % got


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
