# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#135777"]
# relation = "same"
# bug_type = "logical"
# consequence = "nan_inf"
# requires = ["cpu"]
# known_bad = ["1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0"]
# fixed_in = "2.7.1"
# signature = "mismatch"
# oracle = "self"
# ///
"""Applies sigmoid to complex numbers with very negative real parts. The limit is zero, as for real numbers. Instead
the vectorised CPU code divides by an infinite complex number and returns NaN."""

import os
import sys

TRUTH = [0.0, 0.0]  # sigmoid of -6000


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
    """Return real and imaginary part of the sigmoid."""
    result = torch.sigmoid(torch.full((16,), complex(-6000.0, 0.0), dtype=torch.complex64))
    return [result[0].real.item(), result[0].imag.item()]


def workaround_path(torch):
    """Return the sigmoid of the real number."""
    return [torch.sigmoid(torch.full((16,), -6000.0))[0].item(), 0.0]


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
        return 0, "sigmoid(-6000 + 0j): %s, as it should be" % got
    return 1, "sigmoid(-6000 + 0j): %s, expected %s" % (got, expected)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
