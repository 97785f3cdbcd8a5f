# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#193755"]
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
"""Takes the remainder of -1 by 1 and of 2 by -1, where nothing remains. The documentation promises the sign of the
divisor, and Python's operator gives it: plus zero and minus zero. Instead the zeros have the sign of the dividend."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = [-0.0, 0.0]
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    import math

    def signs(numbers):
        return [math.copysign(1, number) for number in numbers]

    pairs = [(-1.0, 1.0), (2.0, -1.0)]
    got = torch.remainder(torch.tensor([pair[0] for pair in pairs]), torch.tensor([pair[1] for pair in pairs])).tolist()
    got = spoil(got)
    expected = [dividend % divisor for dividend, divisor in pairs]
    half = torch.remainder(torch.tensor([-1.5, 2.5]), torch.tensor([1.0, -1.0])).tolist()
    if signs(expected) != [1, -1] or half != [0.5, -0.5] or got != [0, 0]:
        return 125, "the workaround path fails too: %s, and with a rest %s" % (expected, half)
    if signs(got) == signs(expected):
        return 0, "the zeros have the sign of the divisor: %s" % got
    return 1, "the remainders are %s, expected %s" % (got, expected)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
