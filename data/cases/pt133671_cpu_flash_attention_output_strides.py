# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#133671", "pytorch/pytorch#134656"]
# relation = "same"
# bug_type = "memory"
# memory_type = "memory_format"
# memory_subtype = "stride_calculation_manually"
# consequence = "silent_correctness"
# requires = ["cpu", "torch>=2.0"]
# known_bad = ["2.1.2", "2.2.2", "2.3.1", "2.4.1"]
# fixed_in = "2.5.1"
# signature = "mismatch"
# oracle = "self"
# ///
"""Compares the layout that attention on the CPU returns with the one of the plain formula. The layout should follow
the inputs, so that a gradient drawn in the layout of the output means the same for both. Instead the flash kernel
returns the heads inside the positions, whatever the inputs look like."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = (*observed[:-1], observed[-1] + 1)
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    if not hasattr(torch.nn.functional, "scaled_dot_product_attention"):
        return 125, "this release has no fused attention"
    torch.manual_seed(0)
    query, key, value = (torch.randn(2, 2, 49, 32) for _ in range(3))
    plain = torch.softmax(query @ key.mT / 32**0.5, -1) @ value
    got = torch.nn.functional.scaled_dot_product_attention(query, key, value)
    if not torch.allclose(got, plain, atol=1e-5):
        return 125, "another failure: the numbers of attention are wrong"
    if plain.stride() != query.stride():
        return 125, "the workaround path fails too: the plain formula changes the layout"
    seen = got.stride()
    seen = spoil(seen)
    if seen == plain.stride():
        return 0, "attention returns strides %s, as the plain formula does" % (seen,)
    return 1, "attention returns strides %s, the plain formula %s" % (seen, plain.stride())


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
