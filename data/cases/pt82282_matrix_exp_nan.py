# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#82282"]
# relation = "same"
# bug_type = "memory"
# memory_type = "initialization"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = ["1.13.1", "2.0.1", "2.1.2"]
# fixed_in = "2.2.2"
# signature = "mismatch"
# oracle = "self"
# ///
"""Takes the exponential of a matrix of NaN. Nothing but NaN can come out. Older releases compare the norm with
thresholds, none of which a NaN meets, and hand back memory that nobody wrote to."""

import os
import sys

TRUTH = [9.0, 9.0]  # all nine entries depend on NaN


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed[0] = 0.0
    return observed


def same(left, right):
    """Return True where two lists of numbers agree to one in a thousand; NaN agrees with nothing."""

    def near(a, b):
        return a == b or abs(a - b) < max(1e-6, 1e-3 * max(abs(a), abs(b)))

    return len(left) == len(right) and all(map(near, left, right))


def bug_path(torch):
    """Return how many entries of the exponential are NaN, and how many there are."""
    result = torch.linalg.matrix_exp(torch.full((3, 3), float("nan")))
    return [float(count) for count in (result.isnan().sum().item(), result.numel())]


def workaround_path(torch):
    """Return the same of an ordinary product."""
    result = torch.full((3, 3), float("nan")) @ torch.eye(3)
    return [float(count) for count in (result.isnan().sum().item(), result.numel())]


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
        return 0, "NaN entries and entries: %s, as it should be" % got
    return 1, "NaN entries and entries: %s, expected %s" % (got, expected)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
