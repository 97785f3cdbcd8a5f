# /// script
# dependencies = ["torch"]
# [tool.embers]
# kind = "timing"
# issues = ["pytorch/pytorch#122191"]
# relation = "same"
# bug_type = "other"
# consequence = "performance"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "slow"
# oracle = "self"
# ///
"""Asks for the standard deviation and the mean of all elements at once. One pass over the data should cost no more
than the two calls by themselves. Instead it takes a path without vector code and is several times slower than both."""

import os
import sys
import time

# The report tells of a factor of more than 5. Right would be 1 or less.
LIMIT = 2.0


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
    block = torch.rand(64, 64, 64)

    def reported():
        return torch.std_mean(block)

    def workaround():
        return torch.std(block), torch.mean(block)

    if not torch.allclose(torch.stack(reported()), torch.stack(workaround())):
        return 125, "the workaround path fails too: the two ways differ"
    affected, otherwise = fastest(reported, workaround)
    affected = spoil(affected)
    print("times: %.3g s affected, %.3g s otherwise" % (affected, otherwise))
    seen = "std_mean takes %.1f times as long as std and mean" % (affected / otherwise)
    return (1 if affected > LIMIT * otherwise else 0), seen


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
