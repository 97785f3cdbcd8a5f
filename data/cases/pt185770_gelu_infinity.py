# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#185770", "pytorch/pytorch#187293"]
# relation = "same"
# bug_type = "logical"
# consequence = "nan_inf"
# requires = ["cpu"]
# known_bad = [
#     "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0", "2.12.1",
#     "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Applies the exact GELU to plus infinity. The result is plus infinity, the input times one. Since the CPU path goes
through oneDNN it is NaN."""

import os
import sys

TRUTH = [float("inf"), 0.8413447]  # x times the normal distribution function of x


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
    """Return the built-in GELU."""
    return torch.nn.functional.gelu(torch.tensor([float("inf"), 1.0])).tolist()


def workaround_path(torch):
    """Return GELU written out with the error function."""
    x = torch.tensor([float("inf"), 1.0])
    return (x * 0.5 * (1.0 + torch.erf(x / 2.0**0.5))).tolist()


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
        return 0, "GELU of infinity and one: %s, as it should be" % got
    return 1, "GELU of infinity and one: %s, expected %s" % (got, expected)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
