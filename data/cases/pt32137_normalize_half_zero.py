# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#32137"]
# relation = "same"
# bug_type = "data_type"
# consequence = "nan_inf"
# requires = ["cpu"]
# known_bad = [
#     "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0", "2.12.1",
#     "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Normalises a half-precision vector of zeros. The built-in lower bound on the norm should keep it zero, as in
single precision. Instead the bound of 1e-12 is itself zero in half precision, and 0 / 0 is NaN."""

import os
import sys

TRUTH = [0.0, 0.0, 0.0]  # a zero vector stays zero


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
    """Return the normalised vector in half precision."""
    return torch.nn.functional.normalize(torch.zeros(3, dtype=torch.float16), dim=0).tolist()


def workaround_path(torch):
    """Return it computed in single precision."""
    return torch.nn.functional.normalize(torch.zeros(3), dim=0).half().tolist()


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
        return 0, "normalised zero vector: %s, as it should be" % got
    return 1, "normalised zero vector: %s, expected %s" % (got, expected)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
