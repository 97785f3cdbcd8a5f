# /// script
# dependencies = ["torch"]
# [tool.embers]
# kind = "timing"
# issues = ["pytorch/pytorch#83382"]
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
"""Convolves an image of half precision on the CPU with kernels of one pixel. Converting to single precision and back
costs little. Instead the convolution goes through plain loops and takes many times as long."""

import os
import sys
import time

# The report tells of a factor of 154 on 1.8.1; the conversions are part of the workaround's time.
LIMIT = 3.0


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
    image, weight = torch.rand(1, 16, 44, 80).half(), torch.rand(16, 16, 1, 1).half()

    def reported():
        return torch.nn.functional.conv2d(image, weight)

    def workaround():
        return torch.nn.functional.conv2d(image.float(), weight.float()).half()

    if not torch.allclose(reported().float(), workaround().float(), rtol=2e-2):
        return 125, "the workaround path fails too: the two ways differ"
    affected, otherwise = fastest(reported, workaround)
    affected = spoil(affected)
    print("times: %.3g s affected, %.3g s otherwise" % (affected, otherwise))
    seen = "a convolution of one pixel takes %.1f times as long as in single precision" % (affected / otherwise)
    return (1 if affected > LIMIT * otherwise else 0), seen


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
