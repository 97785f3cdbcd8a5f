# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#103963", "pytorch/pytorch#103749"]
# relation."pytorch/pytorch#103963" = "sibling"
# relation."pytorch/pytorch#103749" = "same"
# bug_type = "logical"
# consequence = "nan_inf"
# requires = ["cpu", "torch>=2.0"]
# known_bad = ["2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1"]
# fixed_in = "2.5.1"
# signature = "mismatch"
# oracle = "self"
# ///
"""Asks scaled dot product attention for a query that may look at no key. The other queries must stay right, and the
blind one should yield zeros. In older releases its whole row is NaN, because the softmax of nothing but minus
infinity is 0 / 0."""

import os
import sys

TRUTH = [0.0, 0.0, 1.0, 1.0]  # a blind query sees nothing; the other averages ones


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
    """Return both output rows of attention with a fully masked first query."""
    tokens = torch.ones(1, 1, 2, 2)
    mask = torch.tensor([[False, False], [True, True]])
    return torch.nn.functional.scaled_dot_product_attention(tokens, tokens, tokens, attn_mask=mask).flatten().tolist()


def workaround_path(torch):
    """Return the same by hand: softmax with the blind row set to zero."""
    scores = torch.full((2, 2), 2**0.5).masked_fill(torch.tensor([[True, True], [False, False]]), float("-inf"))
    weights = torch.nan_to_num(torch.softmax(scores, -1), nan=0.0)
    return (weights @ torch.ones(2, 2)).flatten().tolist()


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    if not hasattr(torch.nn.functional, "scaled_dot_product_attention"):
        return 125, "this release has no scaled_dot_product_attention"
    got = bug_path(torch)
    got = spoil(got)
    expected = workaround_path(torch)
    if not same(expected, TRUTH):
        return 125, "the workaround path fails too: %s" % expected
    if same(got, expected):
        return 0, "rows of the attention: %s, as it should be" % got
    return 1, "rows of the attention: %s, expected %s" % (got, expected)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
