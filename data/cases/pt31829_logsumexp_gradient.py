# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#31829", "pytorch/pytorch#49724"]
# relation."pytorch/pytorch#31829" = "same"
# relation."pytorch/pytorch#49724" = "sibling"
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
"""Differentiates logsumexp of a row that is minus infinity throughout, next to an ordinary row, and weighs the first
row with zero. Zero gradients would let the rest of the model learn. Instead the row receives NaN."""

import os
import sys

TRUTH = [0.0, 0.0, 0.5, 0.5]  # no weight on the first row; two equal entries in the second


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
    """Return the gradient with minus infinity."""
    x = torch.tensor([[float("-inf"), float("-inf")], [0.0, 0.0]], requires_grad=True)
    torch.logsumexp(x, 1).backward(torch.tensor([0.0, 1.0]))
    return x.grad.flatten().tolist()


def workaround_path(torch):
    """Return the gradient with the lowest finite number in place of minus infinity."""
    x = torch.tensor([[torch.finfo(torch.float32).min] * 2, [0.0, 0.0]], requires_grad=True)
    torch.logsumexp(x, 1).backward(torch.tensor([0.0, 1.0]))
    return x.grad.flatten().tolist()


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
        return 0, "gradient of logsumexp: %s, as it should be" % got
    return 1, "gradient of logsumexp: %s, expected %s" % (got, expected)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
