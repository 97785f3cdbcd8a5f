# /// script
# dependencies = ["torch"]
# [tool.embers]
# kind = "timing"
# issues = ["pytorch/pytorch#107098"]
# relation = "same"
# bug_type = "logical"
# consequence = "performance"
# requires = ["cpu"]
# known_bad = ["1.13.1", "2.0.1", "2.1.2"]
# fixed_in = "2.2.2"
# signature = "slow"
# oracle = "self"
# ///
"""Looks for the distinct values of a large tensor whose values all differ. Sorting and dropping repeated neighbours
gives the same, so it should take about as long. Instead a hash table of all values is filled first, and it takes
several times as long."""

import os
import sys
import time

# The report tells of a factor of 6 against another library that sorts. Equal work is 1.
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
    values = torch.randn(200000)

    def reported():
        return values.unique()

    def workaround():
        return values.sort()[0].unique_consecutive()

    if not torch.equal(reported(), workaround()):
        return 125, "the workaround path fails too: the two ways differ"
    affected, otherwise = fastest(reported, workaround)
    affected = spoil(affected)
    print("times: %.3g s affected, %.3g s otherwise" % (affected, otherwise))
    seen = "the distinct values of 200000 take %.1f times as long as sorting them" % (affected / otherwise)
    return (1 if affected > LIMIT * otherwise else 0), seen


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
