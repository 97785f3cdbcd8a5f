# /// script
# dependencies = ["torch"]
# [tool.embers]
# kind = "timing"
# issues = ["pytorch/pytorch#146508"]
# relation = "same"
# bug_type = "data_type"
# consequence = "performance"
# requires = ["cpu"]
# known_bad = [
#     "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0", "2.12.1",
#     "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "slow"
# oracle = "self"
# ///
"""Multiplies two matrices of half precision on the CPU. A processor without arithmetic of half precision can convert
them to single precision and back for little more than the product costs. Instead the product goes through plain
loops and takes many times as long."""

import os
import sys
import time

# The report tells of factors from 40 to 137 for large matrices; the conversions are part of the workaround's time.
LIMIT = 4.0


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
    left, right = torch.randn(128, 128).half(), torch.randn(128, 128).half()

    def reported():
        return left @ right

    def workaround():
        return (left.float() @ right.float()).half()

    if (reported().double() - left.double() @ right.double()).abs().max() > 1:
        return 125, "the workaround path fails too: the product is wrong"
    affected, otherwise = fastest(reported, workaround)
    affected = spoil(affected)
    print("times: %.3g s affected, %.3g s otherwise" % (affected, otherwise))
    seen = "a product of 128 x 128 matrices takes %.1f times as long as in single precision" % (affected / otherwise)
    return (1 if affected > LIMIT * otherwise else 0), seen


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
