# /// script
# dependencies = ["torch"]
# [tool.embers]
# kind = "timing"
# issues = ["pytorch/pytorch#73328"]
# relation = "sibling"
# bug_type = "other"
# consequence = "performance"
# requires = ["cuda"]
# known_bad = []
# signature = "slow"
# oracle = "self"
# ///
"""Adds a bias to a product of matrices in half precision on CUDA, in one call, for layers of several widths. That
should cost no more than the product and the sum by themselves. The report tells of a model that became slower when this
call went to another library that adds the bias itself."""

import os
import sys
import time

# Two calls read and write the product once more than one call does, so a fused call that takes longer is no fusion.
LIMIT = 1.2
DEVICE = "cuda"
SHAPES = ((1024, 1024, 1024), (256, 32768, 512), (256, 512, 32768), (4096, 64, 64))


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed * 1000
    return observed


def fastest(wait, *ways):
    """Return the least time in seconds of a call of each way, called in turn; wait ends when the device is done."""
    least = [float("inf")] * len(ways)
    for _ in range(3):
        for way in ways:
            way()
    wait()
    for _ in range(30):
        for place, way in enumerate(ways):
            before = time.perf_counter()
            for _ in range(5):
                way()
            wait()
            least[place] = min(least[place], (time.perf_counter() - before) / 5)
    return least


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    if not torch.cuda.is_available():
        return 125, "no CUDA device here"
    torch.manual_seed(0)
    worst, told = 0.0, ""
    for rows, inner, columns in SHAPES:
        bias = torch.randn(columns, device=DEVICE).half()
        left = (torch.randn(rows, inner, device=DEVICE) / inner**0.5).half()
        right = torch.randn(inner, columns, device=DEVICE).half()

        def reported(bias=bias, left=left, right=right):
            return torch.addmm(bias, left, right)

        def workaround(bias=bias, left=left, right=right):
            return torch.mm(left, right).add_(bias)

        truth = torch.addmm(bias.float(), left.float(), right.float())
        if any((way().float() - truth).abs().max() > 0.5 for way in (reported, workaround)):
            return 125, "the workaround path fails too: the product is wrong"
        affected, otherwise = fastest(torch.cuda.synchronize, reported, workaround)
        affected = spoil(affected)
        if affected / otherwise > worst:
            worst = affected / otherwise
            times = "times: %.3g s affected, %.3g s otherwise" % (affected, otherwise)
            told = "%d x %d by %d x %d" % (rows, inner, inner, columns)
    print(times)
    seen = "addmm with a bias takes %.2f times as long as mm and a sum, at worst (%s)" % (worst, told)
    return (1 if worst > LIMIT else 0), seen


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
