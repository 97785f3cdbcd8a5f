# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#136736"]
# relation = "same"
# bug_type = "indexing"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0", "2.12.1",
#     "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Turns flat positions four and eight into coordinates of a two-by-two array, which has only positions zero to three.
Both should be refused. Instead they wrap around and yield coordinates of existing elements."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = [[0, 0], [0, 0]]
    return observed


def is_refusal(error):
    """True where error is the refusal that is due here, by its type and its words."""
    return isinstance(error, (IndexError, RuntimeError, ValueError)) and any(
        words in str(error) for words in ("out of bounds", "out of range")
    )


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    if not hasattr(torch, "unravel_index"):
        return 125, "this release has no torch.unravel_index"
    rows, columns = torch.unravel_index(torch.tensor([0, 1, 2, 3]), (2, 2))
    if rows.tolist() != [0, 0, 1, 1] or columns.tolist() != [0, 1, 0, 1]:
        return 125, "the workaround path fails too: positions inside the array are converted wrongly"
    try:
        got = [axis.tolist() for axis in torch.unravel_index(torch.tensor([4, 8]), (2, 2))]
    except (IndexError, RuntimeError, ValueError) as error:
        if not is_refusal(error):
            raise
        got = error
    got = spoil(got)
    if isinstance(got, Exception):
        return 0, "refused: %s" % str(got)[:80]
    return 1, "positions 4 and 8 of a 2x2 array become rows %s, columns %s" % (got[0], got[1])


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
