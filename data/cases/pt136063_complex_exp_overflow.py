# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#136063", "pytorch/pytorch#48010"]
# relation."pytorch/pytorch#136063" = "sibling"
# relation."pytorch/pytorch#48010" = "same"
# bug_type = "logical"
# consequence = "nan_inf"
# requires = ["cpu"]
# known_bad = ["1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0"]
# fixed_in = "2.7.1"
# signature = "mismatch"
# oracle = "self"
# ///
"""Takes the exponential of complex numbers whose real part is too large and whose imaginary part is zero. The result
is infinity on the real axis. Instead the vectorised code multiplies infinity by the sine of zero, and the imaginary
part is NaN."""

import os
import sys

TRUTH = [float("inf"), 0.0]  # exp of a real number is real


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
    """Return real and imaginary part of the exponential."""
    result = torch.exp(torch.full((8,), complex(1000.0, 0.0)))
    return [result[0].real.item(), result[0].imag.item()]


def workaround_path(torch):
    """Return the real exponential, with a zero imaginary part."""
    large = torch.full((8,), 1000.0)
    return [torch.exp(large)[0].item(), torch.zeros(1).item()]


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
        return 0, "exp(1000 + 0j): %s, as it should be" % got
    return 1, "exp(1000 + 0j): %s, expected %s" % (got, expected)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
