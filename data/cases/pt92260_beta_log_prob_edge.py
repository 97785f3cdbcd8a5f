# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#92260", "pytorch/pytorch#65811"]
# relation = "same"
# bug_type = "logical"
# consequence = "nan_inf"
# requires = ["cpu"]
# known_bad = ["1.13.1", "2.0.1"]
# fixed_in = "2.1.2"
# signature = "mismatch"
# oracle = "self"
# ///
"""Evaluates the log density of Beta(1, 1), the uniform distribution on the unit interval, at both ends. It is zero
everywhere. Instead both ends give NaN, since zero is multiplied by the logarithm of zero."""

import os
import sys

TRUTH = [0.0, 0.0]  # the density is one on the whole interval


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
    """Return the log density of Beta(1, 1) at 0 and 1."""
    return torch.distributions.Beta(1.0, 1.0).log_prob(torch.tensor([0.0, 1.0])).tolist()


def workaround_path(torch):
    """Return the log density of the uniform distribution (a hair wider, as its upper end is open)."""
    return torch.distributions.Uniform(0.0, 1.0 + 1e-6).log_prob(torch.tensor([0.0, 1.0])).round().tolist()


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
        return 0, "log density at the ends: %s, as it should be" % got
    return 1, "log density at the ends: %s, expected %s" % (got, expected)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
