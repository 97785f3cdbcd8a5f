# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#39639"]
# relation = "sibling"
# bug_type = "memory"
# memory_type = "non_contiguous"
# memory_subtype = "input_tensor_management"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Fills an expanded row in place by a mask that marks one of its two rows. Both rows share memory, so that the call
should be refused. Instead it writes, and the row that was not marked is filled as well; at most a warning tells."""

import os
import sys

PLANT = os.environ.get("EMBERS_PLANT") == "1"


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    mask = torch.tensor([[True, True, True], [False, False, False]])
    expected = torch.zeros(1, 3).expand(2, 3).masked_fill(mask, 1.0)
    if expected.tolist() != [[1.0] * 3, [0.0] * 3]:
        return 125, "the workaround path fails too: out of place the result is %s" % expected.tolist()
    target = torch.zeros(1, 3).expand(2, 3)
    try:
        if not PLANT:
            target.masked_fill_(mask, 1.0)
        else:
            target = torch.ones(2, 3)
    except RuntimeError as error:
        return 0, "refused: %s" % str(error)[:80]
    if torch.equal(target, expected):
        return 0, "only the marked row is filled"
    return 1, "the row that is not marked holds %s" % target[1].tolist()


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
