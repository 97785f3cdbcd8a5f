# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#191965", "pytorch/pytorch#52851"]
# relation."pytorch/pytorch#191965" = "same"
# relation."pytorch/pytorch#52851" = "sibling"
# bug_type = "indexing"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Reduces one bag of two embeddings whose last offset leaves a third index unused, by sum, mean and maximum. All three
must agree on what the bag holds. Instead the sum leaves the third out, the mean divides by three, and the maximum
looks at all three."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = [6.0, 2.0, 9.0]
    return observed


def is_refusal(error):
    """True where error is the refusal that is due here, by its type and its words."""
    return isinstance(error, (RuntimeError, ValueError)) and "offset" in str(error)


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    weight = torch.tensor([[1.0], [5.0], [9.0]])
    bag = torch.nn.functional.embedding_bag

    def reduce(indices, offsets):
        indices, offsets = torch.tensor(indices), torch.tensor(offsets)
        return [float(bag(indices, weight, offsets, mode=m, include_last_offset=True)) for m in ("sum", "mean", "max")]

    if reduce([0, 1], [0, 2]) != [6.0, 3.0, 5.0] or reduce([0, 1, 2], [0, 3]) != [15.0, 5.0, 9.0]:
        return 125, "the workaround path fails too: offsets that use every index give other values"
    try:
        got = reduce([0, 1, 2], [0, 2])
    except (RuntimeError, ValueError) as error:
        if not is_refusal(error):
            raise
        got = error
    got = spoil(got)
    if isinstance(got, Exception):
        return 0, "refused: %s" % str(got)[:80]
    if got in ([6.0, 3.0, 5.0], [15.0, 5.0, 9.0]):
        return 0, "sum, mean and maximum reduce the same bag: %s" % got
    return 1, "sum %g, mean %g, maximum %g are not of one bag (1, 5 or 1, 5, 9)" % tuple(got)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
