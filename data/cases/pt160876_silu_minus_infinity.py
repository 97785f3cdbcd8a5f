# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#160876"]
# relation = "unknown"
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
"""Applies SiLU to minus infinity, as a mask might contain it. The limit is zero, which every very negative finite
number gives. Instead minus infinity is divided by infinity."""

import os
import sys

TRUTH = [0.0, 0.0]  # x times sigmoid(x) tends to zero


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
    """Return SiLU of minus infinity."""
    return torch.nn.functional.silu(torch.tensor([float("-inf"), 0.0])).tolist()


def workaround_path(torch):
    """Return SiLU of the lowest finite number."""
    return torch.nn.functional.silu(torch.tensor([torch.finfo(torch.float32).min, 0.0])).tolist()


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
        return 0, "SiLU of minus infinity: %s, as it should be" % got
    return 1, "SiLU of minus infinity: %s, expected %s" % (got, expected)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
