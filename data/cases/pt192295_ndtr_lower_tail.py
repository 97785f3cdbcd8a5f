# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#192295"]
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
"""Asks for the normal distribution function at -10 and -30 in double precision. The results are small, but far from the
smallest double: half of the complementary error function. Instead one is subtracted from one, and they are zero."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = [0.0, 0.0]
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    import math

    at = [-10.0, -30.0]
    got = torch.special.ndtr(torch.tensor(at, dtype=torch.float64)).tolist()
    got = spoil(got)
    expected = [0.5 * math.erfc(-one / math.sqrt(2)) for one in at]
    other = (0.5 * torch.erfc(torch.tensor(at, dtype=torch.float64) * -math.sqrt(0.5))).tolist()
    if max(abs(other[i] / expected[i] - 1) for i in range(2)) > 1e-9 or abs(expected[0] - 7.619853e-24) > 1e-29:
        return 125, "the workaround path fails too: %s and %s" % (expected, other)
    if max(abs(got[i] / expected[i] - 1) for i in range(2)) <= 1e-6:
        return 0, "the lower tail is %s" % got
    return 1, "the lower tail is %s instead of %s" % (got, expected)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
