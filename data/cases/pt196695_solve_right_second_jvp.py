# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#196695"]
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
"""Solves X A = B for X, where the triangular matrix A and B depend on t, and takes the second derivative of a weighted
sum of X in forward mode twice. It should be that of X by substitution. Instead a term is lost, and half of it comes
out."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed / 2
    return observed


def second(function, at):
    """Return the second derivative of a function of one number, in forward mode twice."""
    import torch

    one = torch.ones_like(at)
    return torch.func.jvp(lambda t: torch.func.jvp(function, (t,), (one,))[1], (at,), (one,))[1]


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    zero, one = torch.zeros((), dtype=torch.float64), torch.ones((), dtype=torch.float64)
    weights = torch.tensor([[1.0, 2.0], [-1.0, 3.0]], dtype=torch.float64)

    def by_operator(t):
        left = torch.stack([t + 2, one, zero, t + 3]).reshape(2, 2)
        right = torch.stack([t, 2 * t + 1, t + 1, 3 - t]).reshape(2, 2)
        return (torch.linalg.solve(left, right, left=False) * weights).sum()

    def substituted(t):
        first, last = t / (t + 2), (t + 1) / (t + 2)
        return first + 2 * (2 * t + 1 - first) / (t + 3) - last + 3 * (3 - t - last) / (t + 3)

    at = torch.tensor(-0.5, dtype=torch.float64)
    got = second(by_operator, at)
    got = spoil(got)
    expected = second(substituted, at).item()
    step = 1e-4
    around = ((by_operator(at + step) - 2 * by_operator(at) + by_operator(at - step)) / step**2).item()
    if abs(expected - around) > 1e-5:
        return 125, "the workaround path fails too: substituted %g, finite differences %g" % (expected, around)
    if abs(got.item() - expected) < 1e-8:
        return 0, "the second derivative is %g" % got.item()
    return 1, "the second derivative is %g instead of %g" % (got.item(), expected)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
