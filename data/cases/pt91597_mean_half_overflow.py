# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#91597"]
# relation = "sibling"
# bug_type = "data_type"
# consequence = "nan_inf"
# requires = ["cpu"]
# known_bad = ["1.13.1", "2.0.1"]
# fixed_in = "2.1.2"
# signature = "mismatch"
# oracle = "self"
# ///
"""Takes the mean of a thousand half-precision numbers of 100 on the CPU. The mean is 100. Instead the sum is rounded
to half precision first, where it is infinite."""

import os
import sys

TRUTH = [100.0]  # the mean of equal numbers


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
    """Return the mean in half precision."""
    return [torch.full((1000,), 100.0, dtype=torch.float16).mean().item()]


def workaround_path(torch):
    """Return the mean computed in single precision."""
    return [torch.full((1000,), 100.0, dtype=torch.float16).float().mean().half().item()]


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
        return 0, "mean of a thousand times 100: %s, as it should be" % got
    return 1, "mean of a thousand times 100: %s, expected %s" % (got, expected)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
