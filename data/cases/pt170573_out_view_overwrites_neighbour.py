# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#170573"]
# relation = "same"
# bug_type = "memory"
# memory_type = "checking"
# memory_subtype = "input_checking"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Adds six numbers into an output that views the first two of a buffer. The output is too small, so that the call
should be refused. Instead the view is made larger and the four numbers behind it, which belong to others, are
overwritten; a warning is all."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = [2.0] * 4
    return observed


def is_refusal(error):
    """True where error is the refusal that is due here, by its type and its words."""
    return isinstance(error, RuntimeError) and "resize" in str(error)


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    buffer = torch.zeros(6)
    buffer[2:] = 7
    try:
        torch.add(torch.ones(6), torch.ones(6), out=buffer[:2])
        behind = buffer[2:].tolist()
    except RuntimeError as error:
        if not is_refusal(error):
            raise
        behind = error
    behind = spoil(behind)
    if isinstance(behind, Exception):
        return 0, "refused: %s" % str(behind)[:80]
    fit = torch.full((6,), 7.0)
    torch.add(torch.ones(2), torch.ones(2), out=fit[:2])
    if fit.tolist() != [2.0, 2.0, 7.0, 7.0, 7.0, 7.0]:
        return 125, "the workaround path fails too: an output that fits leaves %s" % fit.tolist()
    if behind == [7.0] * 4:
        return 0, "the numbers behind the output are untouched"
    return 1, "the numbers behind the output, all 7, are now %s" % behind


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
