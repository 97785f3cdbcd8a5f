# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#194725"]
# relation = "same"
# bug_type = "data_type"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0", "2.12.1",
#     "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Asks which of two int32 numbers, 4097 and 4098, are among the half-precision numbers one to twenty. None is. Instead
4097 is said to be: duplicates are taken out before the types are made equal, and both numbers then round to the same
half-precision number."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = [True, False]
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    numbers = torch.tensor([4097, 4098], dtype=torch.int32)
    among = torch.arange(1, 21, dtype=torch.float16)
    got = torch.isin(numbers, among).tolist()
    got = spoil(got)
    expected = (numbers.double()[:, None] == among.double()).any(1).tolist()
    one_by_one = [torch.isin(one, among).item() for one in numbers]
    if expected != [False, False] or one_by_one != expected:
        return 125, "the workaround path fails too: compared %s, one by one %s" % (expected, one_by_one)
    if got == expected:
        return 0, "neither 4097 nor 4098 is among one to twenty"
    return 1, "4097 and 4098 among one to twenty: %s" % got


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
