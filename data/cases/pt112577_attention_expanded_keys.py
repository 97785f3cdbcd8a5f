# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#112577", "pytorch/pytorch#114837"]
# relation."pytorch/pytorch#112577" = "same"
# relation."pytorch/pytorch#114837" = "sibling"
# bug_type = "memory"
# memory_type = "non_contiguous"
# memory_subtype = "input_tensor_management"
# consequence = "silent_correctness"
# requires = ["cuda"]
# known_bad = []
# signature = "mismatch"
# oracle = "self"
# ///
"""Calls attention with a mask on the GPU in single precision, with one key head that is expanded over all query
heads. The numbers of the plain formula are due. Instead the memory-efficient kernel returns garbage for such
operands and certain lengths of the mask."""

import os
import sys

DEVICE = "cuda"


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

    if not torch.cuda.is_available():
        return 125, "no CUDA device here"
    if not hasattr(torch.nn.functional, "scaled_dot_product_attention"):
        return 125, "this release has no fused attention"
    attention = torch.nn.functional.scaled_dot_product_attention
    torch.manual_seed(0)
    for length in (15, 16, 17):
        query, key, value = torch.randn(2, 16, 1, 128), torch.randn(2, 1, length, 128), torch.randn(2, 1, length, 128)
        mask = torch.ones(2, 1, 1, length, dtype=torch.bool)
        mask[1, ..., -4:] = False
        scores = (query.double() @ key.double().mT / 128**0.5).masked_fill(~mask, float("-inf"))
        truth = torch.softmax(scores, -1) @ value.double()
        query, key, value, mask = (x.to(DEVICE) for x in (query, key, value, mask))
        mask = mask.expand(2, 16, 1, length)
        key, value = key.expand(2, 16, length, 128), value.expand(2, 16, length, 128)
        plain = (query @ key.mT / 128**0.5).masked_fill(~mask, float("-inf")).softmax(-1) @ value
        if not torch.allclose(plain.cpu().double(), truth, atol=1e-2):
            return 125, "the workaround path fails too: the plain formula gives wrong attention"
        got = attention(query, key, value, attn_mask=mask).cpu()
        got = spoil(got)
        if not torch.allclose(got.double(), truth, atol=1e-2):
            return 1, "%d keys: attention is %s" % (length, where_off(got, truth))
    return 0, "expanded keys give the right attention"


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
