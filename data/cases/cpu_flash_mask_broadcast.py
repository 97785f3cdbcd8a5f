# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = []
# bug_type = "memory"
# memory_type = "indexing"
# memory_subtype = "invalid_memory_access"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = ["2.3.1", "2.4.1"]
# fixed_in = "2.5.1"
# signature = "mismatch"
# oracle = "self"
# ///
"""Adds a mask of one column, a shift for every query, to the scores of attention on the CPU. Such a shift cancels in
the softmax. Instead the fused kernel reads a full row of the mask where there is one element, and the result is that
of foreign numbers."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed + 1
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    attention = getattr(torch.nn.functional, "scaled_dot_product_attention", None)
    if attention is None:
        return 125, "this release has no scaled_dot_product_attention"
    torch.manual_seed(0)
    query, key, value = (torch.randn(2, 3, 5, 8) for _ in range(3))
    column = torch.randn(5, 1) * 3
    expected = attention(query, key, value, attn_mask=column.expand(5, 5).contiguous())
    truth = (query @ key.transpose(-1, -2) / 8**0.5 + column).softmax(-1) @ value
    if not torch.allclose(expected, truth, atol=1e-4):
        return 125, "the workaround path fails too: a full mask disagrees with attention by hand"
    got = attention(query, key, value, attn_mask=column)
    got = spoil(got)
    wrong = float((got - truth).abs().max())
    if wrong < 1e-4:
        return 0, "a mask of one column is broadcast"
    return 1, "with a mask of one column the result is off by up to %.3g" % wrong


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
