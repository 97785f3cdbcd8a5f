# /// script
# dependencies = ["torch"]
# [tool.embers]
# kind = "timing"
# issues = ["pytorch/pytorch#13918"]
# relation = "same"
# bug_type = "other"
# consequence = "performance"
# requires = ["cpu", "package:numpy"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "slow"
# oracle = "self"
# ///
"""Makes a tensor of a list of arrays. Each array has its numbers side by side, so they could be copied. Instead each
number becomes a Python object first, and it takes many times as long as joining the arrays before."""

import os
import sys
import time

# The reports tell of factors of 10 and more. A copy of each array, with its share of overhead, would cost about as
# much as joining.
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
    import warnings

    import numpy as np

    warnings.simplefilter("ignore")  # later releases warn that this is slow
    arrays = list(np.random.RandomState(0).rand(10, 3000))

    def reported():
        return torch.tensor(arrays)

    def workaround():
        return torch.tensor(np.array(arrays))

    if not torch.equal(reported(), workaround()):
        return 125, "the workaround path fails too: the two ways differ"
    affected, otherwise = fastest(reported, workaround)
    affected = spoil(affected)
    print("times: %.3g s affected, %.3g s otherwise" % (affected, otherwise))
    seen = "a tensor of ten arrays takes %.1f times as long as one of the joined arrays" % (affected / otherwise)
    return (1 if affected > LIMIT * otherwise else 0), seen


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
