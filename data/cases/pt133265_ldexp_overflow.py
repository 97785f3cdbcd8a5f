# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#133265", "pytorch/pytorch#153069"]
# relation = "sibling"
# bug_type = "logical"
# consequence = "nan_inf"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
# ]
# fixed_in = "2.11.0"
# signature = "mismatch"
# oracle = "self"
# ///
"""Multiplies 2**-100 by 2**150 with ldexp. The product, 2**50, is an ordinary number. Instead the power of two is
formed on its own, in single precision, and is infinite."""

import os
import sys

TRUTH = [2.0**50]  # powers of two multiply exactly


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed[0] = float("inf")
    return observed


def same(left, right):
    """Return True where two lists of numbers agree to one in a thousand; NaN agrees with nothing."""

    def near(a, b):
        return a == b or abs(a - b) < max(1e-6, 1e-3 * max(abs(a), abs(b)))

    return len(left) == len(right) and all(map(near, left, right))


def bug_path(torch):
    """Return the product in one step."""
    return [torch.ldexp(torch.tensor([2.0**-100]), torch.tensor([150])).item()]


def workaround_path(torch):
    """Return the product in two steps."""
    return [torch.ldexp(torch.ldexp(torch.tensor([2.0**-100]), torch.tensor([75])), torch.tensor([75])).item()]


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
        return 0, "2**-100 times 2**150: %s, as it should be" % got
    return 1, "2**-100 times 2**150: %s, expected %s" % (got, expected)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
