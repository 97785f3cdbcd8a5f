# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#196701"]
# relation = "same"
# bug_type = "logical"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0",
#     "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Differentiates the cumulative products of three factors, the first of which is zero, twice in forward mode. The
products are polynomials, whose second derivatives one can write down. Instead those behind the zero factor are
wrong."""

import operator
import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = [0.0, 0.0, 0.0]
    return observed


def apart(left, right):
    """Return the largest difference of two lists of numbers."""
    return max(map(abs, map(operator.sub, left, right)))


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)

    def factors(t):
        return torch.stack([t - 1, 2 * t + 1, t + 3])

    def twice(function):
        def once(t):
            return torch.func.jvp(function, (t,), (torch.ones_like(t),))[1]

        return torch.func.jvp(once, (point,), (torch.ones_like(point),))[1].tolist()

    def by_hand(t):
        first, second, third = factors(t).unbind()
        return torch.stack([first, first * second, first * second * third])

    point = torch.tensor(1.0, dtype=torch.float64)
    truth = [0.0, 4.0, 22.0]  # of t - 1, 2t^2 - t - 1 and 2t^3 + 5t^2 - 4t - 3 at 1
    got = twice(lambda t: torch.cumprod(factors(t), 0))
    got = spoil(got)
    expected = twice(by_hand)
    if apart(expected, truth) > 1e-9:
        return 125, "the workaround path fails too: products written out give %s" % expected
    if apart(got, truth) < 1e-9:
        return 0, "the second derivatives are %s, as they should be" % got
    return 1, "the second derivatives are %s instead of %s" % (got, truth)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
