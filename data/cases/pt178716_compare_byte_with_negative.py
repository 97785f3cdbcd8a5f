# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#178716"]
# relation = "same"
# bug_type = "data_type"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Asks whether unsigned bytes are at most a zero-dimensional signed tensor of minus nineteen, and whether that is at
least the bytes. Both are false for every byte. Instead the negative number wraps around to a byte, and both are true;
a signed tensor with one axis is compared rightly."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = (True, True)
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    values = torch.tensor([1, 2, 3, 4], dtype=torch.uint8)
    negative = torch.tensor(-19, dtype=torch.int8)
    got = (torch.le(values, negative).any().item(), torch.ge(negative, values).any().item())
    got = spoil(got)
    long = negative.reshape(1)
    if torch.le(values, long).any() or torch.ge(long, values).any():
        return 125, "the workaround path fails too: a tensor with one axis is compared wrongly"
    if got == (False, False):
        return 0, "no byte is at most -19"
    return 1, "bytes from 1 to 4 are at most -19: %s; -19 is at least one of them: %s" % got


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
