# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#187296"]
# relation = "same"
# bug_type = "logical"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Applies the Heaviside step to NaN, zero and minus one. NaN should stay NaN, as a comparison cannot place it. Instead
it becomes zero."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed[0] = 0.0
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    numbers = torch.tensor([float("nan"), 0.0, -1.0])
    got = torch.heaviside(numbers, torch.ones(3)).tolist()
    got = spoil(got)
    expected = (numbers.sign() + numbers.eq(0) + numbers.lt(0) + numbers * 0).tolist()
    if expected[1:] != [1.0, 0.0] or got[1:] != expected[1:] or expected[0] == expected[0]:
        return 125, "the workaround path fails too: %s, and the step of numbers %s" % (expected, got[1:])
    if got[0] != got[0]:
        return 0, "the step of NaN is NaN"
    return 1, "the step of NaN is %g" % got[0]


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
