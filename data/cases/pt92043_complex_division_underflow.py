# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#92043"]
# relation = "same"
# bug_type = "logical"
# consequence = "nan_inf"
# requires = ["cpu"]
# known_bad = ["1.13.1"]
# fixed_in = "2.0.1"
# signature = "mismatch"
# oracle = "self"
# ///
"""Divides complex zero by a small number, 1e-36. The quotient is zero. Instead the squared magnitude of the divisor
underflows, and the quotient is NaN."""

import os
import sys

TRUTH = [0.0, 0.0]  # zero divided by a number


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
    """Return the quotient in single precision."""
    quotient = torch.tensor(0j, dtype=torch.complex64) / torch.tensor(1e-36 + 0j, dtype=torch.complex64)
    return [quotient.real.item(), quotient.imag.item()]


def workaround_path(torch):
    """Return the quotient in double precision, where the square still fits."""
    quotient = torch.tensor(0j, dtype=torch.complex128) / torch.tensor(1e-36 + 0j, dtype=torch.complex128)
    return [quotient.real.item(), quotient.imag.item()]


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
        return 0, "quotient: %s, as it should be" % got
    return 1, "quotient: %s, expected %s" % (got, expected)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
