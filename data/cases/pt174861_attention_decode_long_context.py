# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#174861"]
# relation = "sibling"
# bug_type = "memory"
# memory_type = "indexing"
# memory_subtype = "invalid_memory_access"
# consequence = "silent_correctness"
# requires = ["mps"]
# known_bad = []
# signature = "mismatch"
# oracle = "self"
# ///
"""Decodes one token against a context of a thousand keys with fewer key heads than query heads. The numbers of the
CPU are due, the same in each call. Instead the kernel of two passes reads memory beyond its operands."""

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
    for length in (1024, 1025, 1111):
        query, key, value = torch.randn(1, 8, 1, 128), torch.randn(1, 2, length, 128), torch.randn(1, 2, length, 128)
        key, value = key.repeat_interleave(4, 1), value.repeat_interleave(4, 1)
        truth = torch.softmax(query.double() @ key.double().mT / 128**0.5, -1) @ value.double()
        moved = [x.to(DEVICE) for x in (query, key, value)]
        plain = (torch.softmax(moved[0] @ moved[1].mT / 128**0.5, -1) @ moved[2]).cpu()
        if not torch.allclose(plain.double(), truth, atol=1e-3):
            return 125, "the workaround path fails too: the plain formula gives wrong attention"
        # The kernel was written for grouped heads; where the option exists, the heads are not repeated.
        for _ in range(3):
            try:
                got = attention(
                    moved[0], moved[1][:, ::4].contiguous(), moved[2][:, ::4].contiguous(), enable_gqa=True
                ).cpu()
            except TypeError:
                got = attention(*moved).cpu()
            got = spoil(got)
            if not torch.allclose(got.double(), truth, atol=1e-3):
                return 1, "context of %d: attention is %s" % (length, where_off(got, truth))
    return 0, "contexts of about a thousand keys are handled"


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
