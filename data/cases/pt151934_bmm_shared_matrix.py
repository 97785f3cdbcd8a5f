# /// script
# dependencies = ["torch"]
# [tool.embers]
# kind = "timing"
# issues = ["pytorch/pytorch#151934"]
# relation = "sibling"
# bug_type = "memory"
# memory_type = "memory_overflow"
# memory_subtype = "programming"
# consequence = "performance"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "slow"
# oracle = "self"
# ///
"""Multiplies many matrices of bfloat16 with one and the same matrix, which is expanded over the batch. The product
could be taken at once. Instead the shared matrix is copied for each element of the batch, which costs many times as
much as folding the batch into the rows."""

import os
import sys
import time

# A comment tells of a factor of 300 for a batch of 2 GiB; products of single rows are a little dearer than one
# product.
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
    rows = torch.randn(512, 1, 128).bfloat16()
    shared = torch.randn(128, 128).bfloat16()

    def reported():
        return torch.bmm(rows, shared.expand(512, 128, 128))

    def workaround():
        return (rows.view(512, 128) @ shared).view(512, 1, 128)

    truth = (rows.double().view(512, 128) @ shared.double()).view(512, 1, 128)
    if (reported().double() - truth).abs().max() > 1 or (workaround().double() - truth).abs().max() > 1:
        return 125, "the workaround path fails too: the product is wrong"
    affected, otherwise = fastest(reported, workaround)
    affected = spoil(affected)
    print("times: %.3g s affected, %.3g s otherwise" % (affected, otherwise))
    seen = "a batch of 512 products with one matrix takes %.1f times as long as one product" % (affected / otherwise)
    return (1 if affected > LIMIT * otherwise else 0), seen


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
