# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#124029", "pytorch/pytorch#165267"]
# relation."pytorch/pytorch#124029" = "same"
# relation."pytorch/pytorch#165267" = "sibling"
# bug_type = "memory"
# memory_type = "non_contiguous"
# memory_subtype = "input_tensor_management"
# consequence = "silent_correctness"
# requires = ["mps"]
# known_bad = []
# signature = "mismatch"
# oracle = "self"
# ///
"""Draws a random tensor in the likeness of a permuted one. Numbers between zero and one are due everywhere. Instead
the result shows zeros, or what an earlier operation left in the buffer, because the sampler does not write into
the permuted layout that the new tensor inherits."""

import os
import sys

DEVICE = "mps"


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = 1
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    if not torch.backends.mps.is_available():
        return 125, "no MPS device here"
    torch.manual_seed(0)
    model = torch.zeros(4, 30, 20, device=DEVICE).permute(2, 0, 1)

    def spread(layout):
        drawn = torch.rand_like(layout).cpu()
        within = bool(((drawn >= 0) & (drawn < 1)).all())
        return len(torch.unique(drawn)) if within else 0

    # 2,400 draws of 24 bits: fewer than 2,000 different ones never happen by chance.
    if spread(model.contiguous()) < 2000:
        return 125, "the workaround path fails too: a dense model is filled with few different numbers"
    different = min(spread(model) for _ in range(3))
    different = spoil(different)
    if different >= 2000:
        return 0, "%d different numbers in the permuted layout" % different
    return 1, "only %d different numbers between 0 and 1 among 2400" % different


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
