# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#73870"]
# relation = "unknown"
# bug_type = "memory"
# memory_type = "checking"
# memory_subtype = "input_checking"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = ["1.13.1", "2.0.1"]
# fixed_in = "2.1.2"
# signature = "mismatch"
# oracle = "self"
# ///
"""Pools a row of four elements with a window of five. The window does not fit, so that the call should be refused, as
it is once gradients are wanted. Instead an output without elements is returned."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = (1, 17, 0)
    return observed


def is_refusal(error):
    """True where error is the refusal that is due here, by its type and its words."""
    return isinstance(error, RuntimeError) and "output size" in str(error)


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    row = torch.ones(1, 17, 4)
    try:
        torch.max_pool1d(row.clone().requires_grad_(), 5, 2)
        return 125, "the workaround path fails too: with gradients the call is not refused either"
    except RuntimeError as error:
        if not is_refusal(error):
            raise
    if torch.max_pool1d(row, 4, 2).shape != (1, 17, 1):
        return 125, "the workaround path fails too: a window of four is pooled wrongly"
    try:
        got = tuple(torch.max_pool1d(row, 5, 2).shape)
    except RuntimeError as error:
        if not is_refusal(error):
            raise
        got = error
    got = spoil(got)
    if isinstance(got, Exception):
        return 0, "refused: %s" % str(got)[:80]
    return 1, "a window of five over four elements gives the shape %s" % (got,)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
