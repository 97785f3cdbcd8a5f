# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#196682"]
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
"""Takes the forward derivative of the inverse of a matrix that is given by its lower Cholesky factor. It should be
that of the general inverse. Instead, for a factor that is not diagonal, another number comes out: two matrices are
multiplied in the wrong order."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed + 1
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)

    def factor(t):
        one = torch.ones_like(t)
        return torch.stack([t + 1, 0 * one, one, 2 * one]).reshape(2, 2)

    def once(function):
        return torch.func.jvp(function, (point,), (torch.ones_like(point),))[1].item()

    point = torch.tensor(0.7, dtype=torch.float64)
    truth = 0.5 / 1.7**2 - 2.5 / 1.7**3  # of 5 / (4a^2) - 1 / (2a) + 1/4 with a = t + 1
    got = once(lambda t: torch.cholesky_inverse(factor(t)).sum())
    got = spoil(got)
    expected = once(lambda t: torch.linalg.inv(factor(t) @ factor(t).mT).sum())
    if abs(expected - truth) > 1e-9:
        return 125, "the workaround path fails too: the general inverse gives %.9g" % expected
    if abs(got - truth) < 1e-9:
        return 0, "the derivative is %.9g, as it should be" % got
    return 1, "the derivative is %.9g instead of %.9g" % (got, truth)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
