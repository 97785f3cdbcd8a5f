# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#195338"]
# relation = "sibling"
# bug_type = "memory"
# memory_type = "checking"
# memory_subtype = "input_checking"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0", "2.14.1",
# ]
# fixed_in = "2.15.0"
# signature = "mismatch"
# oracle = "self"
# ///
"""Asks for the least and the greatest element at once and names the same tensor as the place for both. This should be
refused, as other operations with two results do. Instead the greatest overwrites the least and is handed out for
both."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = [3.0, 3.0]
    return observed


WORDS = ("overlap", "memory location", "alias", "share")


def is_refusal(error):
    """True where error is the refusal that is due here, by its type and its words."""
    return isinstance(error, (RuntimeError, ValueError, IndexError)) and any(word in str(error) for word in WORDS)


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    values = torch.tensor([3.0, -2.0, 1.5])
    apart = torch.aminmax(values, out=(torch.empty(()), torch.empty(())))
    if (apart.min.item(), apart.max.item()) != (-2.0, 3.0):
        return 125, "the workaround path fails too: two outputs hold %s" % (apart,)
    shared = torch.empty(())
    try:
        pair = torch.aminmax(values, out=(shared, shared))
        got = [pair.min.item(), pair.max.item()]
    except (RuntimeError, ValueError) as error:
        if not is_refusal(error):
            raise
        got = error
    got = spoil(got)
    if isinstance(got, Exception):
        return 0, "one tensor for both results is refused"
    return 1, "one tensor for both results: minimum %g and maximum %g instead of -2 and 3" % tuple(got)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
