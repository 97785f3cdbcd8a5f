# /// script
# dependencies = ["torch"]
# [tool.embers]
# kind = "timing"
# issues = ["pytorch/pytorch#73328"]
# relation = "sibling"
# bug_type = "other"
# consequence = "performance"
# requires = ["cpu"]
# known_bad = []
# signature = "slow"
# oracle = "self"
# ///
"""Adds a bias to a product of matrices in bfloat16 on the CPU, in one call. That should cost no more than the product
and the sum by themselves. The report tells of a fused call on CUDA that was slower than its parts; this is the same
call on the CPU, where the report saw no change."""

import os
import sys
import time

# Two calls read and write the product once more than one call does, so a fused call that takes longer is no fusion.
LIMIT = 1.5


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed * 1000
    return observed


def fastest(*ways):
    """Return the least CPU time in seconds of a call of each way, called in turn: by the clock of this thread."""
    least = [float("inf")] * len(ways)
    for way in ways:
        way()
    begun, rounds = time.thread_time(), 0
    while rounds < 5 or time.thread_time() - begun < 0.1:
        for place, way in enumerate(ways):
            before = time.thread_time()
            way()
            least[place] = min(least[place], time.thread_time() - before)
        rounds += 1
    return least


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    bias, left, right = torch.randn(128).bfloat16(), torch.randn(128, 128).bfloat16(), torch.randn(128, 128).bfloat16()

    def reported():
        return torch.addmm(bias, left, right)

    def workaround():
        return torch.mm(left, right) + bias

    truth = torch.addmm(bias.double(), left.double(), right.double())
    if (reported().double() - truth).abs().max() > 1 or (workaround().double() - truth).abs().max() > 1:
        return 125, "the workaround path fails too: the product is wrong"
    affected, otherwise = fastest(reported, workaround)
    affected = spoil(affected)
    print("times: %.3g s affected, %.3g s otherwise" % (affected, otherwise))
    seen = "addmm with a bias takes %.2f times as long as mm and a sum" % (affected / otherwise)
    return (1 if affected > LIMIT * otherwise else 0), seen


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
