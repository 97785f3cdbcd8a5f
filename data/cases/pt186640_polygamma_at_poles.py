# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#186640"]
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
"""Evaluates the trigamma function at -1, -2 and -3. These are poles of even order, so that it is plus infinity there,
as it is at zero. Instead large finite numbers come out: the sine of a rounded multiple of pi is not zero."""

import math
import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed[0] = 1.3e15
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    poles = torch.tensor([-1.0, -2.0, -3.0])
    got = torch.special.polygamma(1, poles).tolist()
    got = spoil(got)
    between = torch.special.polygamma(1, torch.tensor([-0.5])).item()
    at_zero = torch.special.polygamma(1, torch.tensor([0.0])).item()
    truth = math.pi**2 / 2 + 4  # of minus a half, by the step from x to x + 1
    if abs(between - truth) > 1e-4 or at_zero != math.inf:
        return 125, "the workaround path fails too: %.9g at minus a half instead of %.9g, %g at 0" % (
            between,
            truth,
            at_zero,
        )
    if got == [math.inf] * 3:
        return 0, "the trigamma function is infinite at its poles"
    return 1, "the trigamma function at -1, -2 and -3 is %s instead of infinite" % got


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
