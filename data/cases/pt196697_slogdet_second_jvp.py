# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#196697"]
# relation = "same"
# bug_type = "logical"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0",
#     "2.12.1", "2.13.0", "2.14.1",
# ]
# fixed_in = "2.15.0"
# signature = "mismatch"
# oracle = "self"
# ///
"""Differentiates the logarithm of a determinant that is linear in the parameter twice in forward mode. The second
derivative is minus the square of the first. Instead it is zero: the rule of the first derivative takes the saved
factors of the matrix for constants."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = 0.0
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)

    def matrix(t):
        one = torch.ones_like(t)
        return torch.stack([t + 2, one, one, 3 * one]).reshape(2, 2)

    def twice(function):
        def once(t):
            return torch.func.jvp(function, (t,), (torch.ones_like(t),))[1]

        return torch.func.jvp(once, (point,), (torch.ones_like(point),))[1].item()

    def by_hand(t):
        entries = matrix(t)
        return (entries[0, 0] * entries[1, 1] - entries[0, 1] * entries[1, 0]).log()

    point = torch.tensor(0.7, dtype=torch.float64)
    truth = -9 / (3 * 0.7 + 5) ** 2  # of log(3t + 5)
    got = twice(lambda t: torch.linalg.slogdet(matrix(t))[1])
    got = spoil(got)
    expected = twice(by_hand)
    if abs(expected - truth) > 1e-9:
        return 125, "the workaround path fails too: the formula gives %.9g" % expected
    if abs(got - truth) < 1e-9:
        return 0, "the second derivative is %.9g, as it should be" % got
    return 1, "the second derivative is %.9g instead of %.9g" % (got, truth)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
