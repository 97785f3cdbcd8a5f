# /// script
# dependencies = ["torch"]
# [tool.embers]
# kind = "timing"
# issues = ["pytorch/pytorch#120229"]
# relation = "same"
# bug_type = "other"
# consequence = "performance"
# requires = ["cpu"]
# known_bad = ["1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1"]
# fixed_in = "2.4.1"
# signature = "slow"
# oracle = "self"
# ///
"""Takes the norm over an axis of length one. It should cost about as much as squaring, summing and taking roots.
Instead each row of one element goes through the machinery of a whole reduction, and the norm is tens of times
slower."""

import os
import sys
import time

# The report tells of a factor of 26; releases without the bug take less time than the workaround.
LIMIT = 5.0


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
    column = torch.randn(2**14, 1)

    def reported():
        return torch.norm(column, 2, 1)

    def workaround():
        return column.pow(2).sum(1).sqrt()

    if not torch.allclose(reported(), workaround()):
        return 125, "the workaround path fails too: the two ways differ"
    affected, otherwise = fastest(reported, workaround)
    affected = spoil(affected)
    print("times: %.3g s affected, %.3g s otherwise" % (affected, otherwise))
    seen = "the norm of 16384 rows of one element takes %.1f times as long as pow, sum and sqrt" % (
        affected / otherwise
    )
    return (1 if affected > LIMIT * otherwise else 0), seen


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
