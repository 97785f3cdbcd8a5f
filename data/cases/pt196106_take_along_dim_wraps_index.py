# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#196106"]
# relation = "same"
# bug_type = "indexing"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = ["2.10.0", "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0"]
# signature = "mismatch"
# oracle = "self"
# ///
"""Takes index 9 of three elements along a named axis. It should be refused, as gather does and the same call without
an axis. Instead the index is taken modulo the length, and the first element comes out."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = [10.0]
    return observed


WORDS = ("out of bounds", "out of range")


def is_refusal(error):
    """True where error is the refusal that is due here, by its type and its words."""
    return isinstance(error, (RuntimeError, ValueError, IndexError)) and any(word in str(error) for word in WORDS)


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    values = torch.tensor([10.0, 20.0, 30.0])
    index = torch.tensor([9])
    if torch.take_along_dim(values, torch.tensor([2]), 0).tolist() != [30.0]:
        return 125, "the workaround path fails too: the last element is not found"
    try:
        return 125, "the workaround path fails too: gather gives %s" % torch.gather(values, 0, index).tolist()
    except RuntimeError as error:
        if not is_refusal(error):
            raise
    try:
        got = torch.take_along_dim(values, index, dim=0)
    except (RuntimeError, IndexError) as error:
        if not is_refusal(error):
            raise
        got = error
    got = spoil(got)
    if isinstance(got, Exception):
        return 0, "index 9 of three elements is refused"
    return 1, "index 9 of three elements gives %s" % got


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
