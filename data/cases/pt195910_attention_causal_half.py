# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#195910"]
# relation = "same"
# bug_type = "logical"
# consequence = "silent_correctness"
# requires = ["mps"]
# known_bad = []
# signature = "mismatch"
# oracle = "self"
# ///
"""Calls attention with the causal mask in half precision. A query must not see keys of its future, so changing the
last key and value must leave all earlier answers as they are. Instead the mask is applied per group of four
queries, and three of them see their future."""

import os
import sys

DEVICE = "mps"


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed + 1
    return observed


def where_off(got, expected):
    """Say by how much got differs from expected, and where most."""
    off = (got.detach().cpu().double() - expected.detach().cpu().double()).abs().nan_to_num(float("inf"))
    at, place = int(off.argmax()), []
    for size in reversed(off.shape):
        place.insert(0, at % size)
        at //= size
    return "off by up to %g at %s" % (off.max(), tuple(place))


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    if not torch.backends.mps.is_available():
        return 125, "no MPS device here"
    if not hasattr(torch.nn.functional, "scaled_dot_product_attention"):
        return 125, "this release has no fused attention"
    attention = torch.nn.functional.scaled_dot_product_attention
    torch.manual_seed(0)
    length = 64
    query, key, value = (torch.randn(1, 4, length, 64) for _ in range(3))
    banned = torch.ones(length, length, dtype=torch.bool).triu(1)
    for dtype in (torch.float16, torch.bfloat16):
        small = [x.to(dtype) for x in (query, key, value)]
        scores = small[0].double() @ small[1].double().mT / 8
        truth = torch.softmax(scores.masked_fill(banned, float("-inf")), -1) @ small[2].double()
        moved = [x.to(DEVICE) for x in small]
        masked = attention(*moved, attn_mask=~banned.to(DEVICE)).cpu()
        if not torch.allclose(masked.double(), truth, atol=0.05):
            return 125, "the workaround path fails too: an explicit mask gives wrong attention"
        got = attention(*moved, is_causal=True).cpu()
        got = spoil(got)
        if not torch.allclose(got.double(), truth, atol=0.05):
            return 1, "%s: causal attention is %s" % (dtype, where_off(got, truth))
    return 0, "causal attention in half precision agrees with an explicit mask"


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
