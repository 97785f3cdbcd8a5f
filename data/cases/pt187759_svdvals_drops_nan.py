# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#187759"]
# relation = "same"
# bug_type = "other"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = ["1.13.1"]
# fixed_in = "2.0.1"
# signature = "mismatch"
# oracle = "self"
# ///
"""Asks for the singular values of a matrix with NaN in it. NaN should be among them, or the matrix be refused. Instead
finite values come out."""

import math
import operator
import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = [1.0, 1.0]
    return observed


def apart(left, right):
    """Return the largest difference of two lists of numbers."""
    return max(map(abs, map(operator.sub, left, right)))


WORDS = ("converge", "NaN", "nan", "non-finite")


def is_refusal(error):
    """True where error is the refusal that is due here, by its type and its words."""
    return isinstance(error, (RuntimeError, ValueError, IndexError)) and any(word in str(error) for word in WORDS)


def has_nan(numbers):
    """True where one of the numbers is NaN."""
    return any(map(math.isnan, numbers))


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)

    def singular(matrix):
        try:
            return torch.linalg.svdvals(matrix).tolist()
        except RuntimeError as error:
            if not is_refusal(error):
                raise
            return error

    matrix = torch.tensor([[float("nan"), 0.0], [0.0, 1.0]], dtype=torch.float64)
    sound = singular(torch.tensor([[2.0, 0.0], [0.0, 1.0]], dtype=torch.float64))
    if apart(sound, [2.0, 1.0]) > 1e-9:
        return 125, "the workaround path fails too: the values of diag(2, 1) are %s" % sound
    got = singular(matrix)
    got = spoil(got)
    if isinstance(got, Exception):
        return 0, "the matrix with NaN is refused"
    if has_nan(got):
        return 0, "the values of the matrix with NaN are %s" % got
    return 1, "the values of the matrix with NaN are %s" % got


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
