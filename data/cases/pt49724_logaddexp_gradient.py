# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#49724", "pytorch/pytorch#31829"]
# relation."pytorch/pytorch#49724" = "same"
# relation."pytorch/pytorch#31829" = "sibling"
# bug_type = "logical"
# consequence = "nan_inf"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Adds three numbers in logarithms one after the other, two of them minus infinity. The gradient belongs to the
third number alone, as logsumexp of all three says. Instead the first addition of two minus infinities has a NaN
gradient, which spreads."""

import os
import sys

TRUTH = [0.0, 0.0, 1.0]  # the softmax of (-inf, -inf, 2)


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed[0] = float("nan")
    return observed


def same(left, right):
    """Return True where two lists of numbers agree to one in a thousand; NaN agrees with nothing."""

    def near(a, b):
        return a == b or abs(a - b) < max(1e-6, 1e-3 * max(abs(a), abs(b)))

    return len(left) == len(right) and all(map(near, left, right))


def bug_path(torch):
    """Return the gradient of two chained logaddexp."""
    x = torch.tensor([float("-inf"), float("-inf"), 2.0], requires_grad=True)
    torch.logaddexp(torch.logaddexp(x[0], x[1]), x[2]).backward()
    return x.grad.tolist()


def workaround_path(torch):
    """Return the gradient of one logsumexp."""
    x = torch.tensor([float("-inf"), float("-inf"), 2.0], requires_grad=True)
    torch.logsumexp(x, 0).backward()
    return x.grad.tolist()


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    got = bug_path(torch)
    got = spoil(got)
    expected = workaround_path(torch)
    if not same(expected, TRUTH):
        return 125, "the workaround path fails too: %s" % expected
    if same(got, expected):
        return 0, "gradient through two additions: %s, as it should be" % got
    return 1, "gradient through two additions: %s, expected %s" % (got, expected)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
