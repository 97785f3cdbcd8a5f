# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#153967"]
# relation = "sibling"
# bug_type = "memory"
# memory_type = "segment_fault"
# memory_subtype = "memory_corruption"
# consequence = "crash"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = ["mismatch", "SIGSEGV", "SIGABRT"]
# oracle = "self"
# ///
"""Updates running statistics of eight channels while the tensor for the running mean has room for one. The sizes
should be compared and refused. Instead eight means are written: the tensor is a view into the middle of a larger
one, and what lies behind it changes."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = [20, 21]
    return observed


def is_refusal(error):
    """True where error is the refusal that is due here, by its type and its words."""
    return isinstance(error, (RuntimeError, ValueError)) and "running_mean" in str(error)


def rim_after_update(torch, channels):
    """Return the positions of an arena that change when statistics in the elements from 20 on are updated."""
    arena = torch.zeros(64)
    torch.batch_norm_update_stats(torch.ones(2, 8, 4), arena[20 : 20 + channels], torch.zeros(8), 0.1)
    return arena.nonzero().flatten().tolist()


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    if rim_after_update(torch, 8) != list(range(20, 28)):
        return 125, "the workaround path fails too: statistics of the right size are not updated in place"
    try:
        changed = rim_after_update(torch, 1)
    except (RuntimeError, ValueError) as refusal:
        if not is_refusal(refusal):
            raise
        changed = refusal
    changed = spoil(changed)
    if isinstance(changed, Exception):
        return 0, "a running mean of one element is refused: %s" % type(changed).__name__
    foreign = [place for place in changed if place != 20]
    if foreign:
        return 1, "a running mean of one element: elements %s behind it are overwritten" % foreign
    return 0, "a running mean of one element: nothing around it changed"


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
