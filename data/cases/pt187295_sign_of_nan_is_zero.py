# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#187295"]
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
"""Takes the sign of NaN. It should be NaN, as with NumPy and as a number divided by its magnitude. Instead it is zero,
since NaN is neither above nor below zero."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed[:2] = 0
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    nan = float("nan")
    numbers = torch.tensor([nan, -nan, 2.0, -2.0])
    got = torch.sign(numbers)
    got = spoil(got)
    quotient = numbers / numbers.abs()
    if quotient[2:].tolist() != [1.0, -1.0] or not quotient[:2].isnan().all():
        return 125, "the workaround path fails too: number by magnitude gives %s" % quotient.tolist()
    if got[2:].tolist() != [1.0, -1.0]:
        return 125, "the signs of 2 and -2 are %s" % got[2:].tolist()
    if got[:2].isnan().all():
        return 0, "the sign of NaN is NaN"
    return 1, "the signs of NaN and -NaN are %s" % got[:2].tolist()


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
