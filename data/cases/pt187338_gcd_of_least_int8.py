# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#187338"]
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
"""Takes the greatest common divisor of -128 and 124 in int8. It is 4, which the type can hold. Instead it is -4, as
the absolute value of -128 does not fit and stays negative."""

import math
import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed[1] = -4
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    left, right = [124, -128, -126], [124, 124, 126]
    truth = list(map(math.gcd, left, right))
    got = torch.gcd(torch.tensor(left, dtype=torch.int8), torch.tensor(right, dtype=torch.int8)).tolist()
    got = spoil(got)
    wide = torch.gcd(torch.tensor(left, dtype=torch.int16), torch.tensor(right, dtype=torch.int16)).tolist()
    if wide != truth:
        return 125, "the workaround path fails too: in int16 they are %s" % wide
    if got == truth:
        return 0, "the greatest common divisors are %s, as they should be" % got
    return 1, "the greatest common divisors are %s instead of %s" % (got, truth)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
