# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#195337", "pytorch/pytorch#195338"]
# relation = "same"
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
"""Gives aminmax the same tensor for both of its outputs. It should be refused, as both cannot stand in one place.
Instead the maximum is written over the minimum, and both are said to be the maximum."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = (3.0, 3.0)
    return observed


def is_refusal(error):
    """Return True where the message says that the outputs share memory."""
    words = str(error)
    return any(word in words for word in ("overlap", "alias", "share", "distinct", "same memory"))


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    numbers = torch.tensor([1.0, -2.0, 3.0])
    expected = tuple(one.item() for one in torch.aminmax(numbers))
    if expected != (-2.0, 3.0):
        return 125, "the workaround path fails too: with outputs of its own it gives %s" % (expected,)
    target = torch.empty(())
    try:
        low, high = torch.aminmax(numbers, out=(target, target))
        got = (low.item(), high.item())
    except (RuntimeError, ValueError) as error:
        if not is_refusal(error):
            raise
        got = error
    got = spoil(got)
    if isinstance(got, Exception):
        return 0, "one tensor for both outputs is refused"
    if got == expected:
        return 0, "both numbers are right: %s" % (got,)
    return 1, "minimum and maximum are said to be %s instead of %s" % (got, expected)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
