# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#163347"]
# bug_type = "other"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = []
# signature = "mismatch"
# oracle = "self"
# ///
"""Convolves a bfloat16 image of two by two ones with a kernel of ones of that size. Four is due. Instead some
processors get one from the vendor's library."""

import os
import sys

PLANT = os.environ.get("EMBERS_PLANT") == "1"


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    got = float(torch.conv2d(torch.ones(1, 1, 2, 2).bfloat16(), torch.ones(1, 1, 2, 2).bfloat16()))
    if PLANT:
        got = 1.0
    expected = float(torch.conv2d(torch.ones(1, 1, 2, 2), torch.ones(1, 1, 2, 2)))
    if expected != 4:
        return 125, "the workaround path fails too: in float32 the sum is %g" % expected
    if got == 4:
        return 0, "four ones add up to 4"
    return 1, "four ones add up to %g" % got


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
