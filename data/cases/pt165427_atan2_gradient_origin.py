# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#165427", "pytorch/pytorch#98276", "pytorch/pytorch#93998"]
# relation."pytorch/pytorch#165427" = "unknown"
# relation."pytorch/pytorch#98276" = "sibling"
# relation."pytorch/pytorch#93998" = "same"
# bug_type = "logical"
# consequence = "nan_inf"
# requires = ["cpu"]
# known_bad = ["1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1"]
# fixed_in = "2.10.0"
# signature = "mismatch"
# oracle = "self"
# ///
"""Differentiates atan2 at points of which one is the origin, and drops the origin by its weight of zero. The
gradient should be finite everywhere. Instead the reciprocal of the squared radius is infinite at the origin, and
zero times infinity gives NaN."""

import os
import sys

TRUTH = [0.0, 0.2, 0.0, -0.4]  # x / r**2 and -y / r**2 at (y, x) = (2, 1); no weight at the origin


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
    """Return the gradients with the origin among the points."""
    y = torch.tensor([0.0, 2.0], requires_grad=True)
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    (torch.atan2(y, x) * torch.tensor([0.0, 1.0])).sum().backward()
    return y.grad.tolist() + x.grad.tolist()


def workaround_path(torch):
    """Return the gradients with the origin taken out beforehand."""
    y = torch.tensor([2.0], requires_grad=True)
    x = torch.tensor([1.0], requires_grad=True)
    torch.atan2(y, x).sum().backward()
    return [0.0, y.grad.item(), 0.0, x.grad.item()]


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
        return 0, "gradient of atan2: %s, as it should be" % got
    return 1, "gradient of atan2: %s, expected %s" % (got, expected)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
