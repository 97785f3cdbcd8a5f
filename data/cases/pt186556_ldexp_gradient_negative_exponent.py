# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#186556", "pytorch/pytorch#187460", "pytorch/pytorch#196680"]
# relation = "same"
# bug_type = "data_type"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = ["2.11.0", "2.12.1", "2.13.0"]
# fixed_in = "2.14.1"
# signature = "mismatch"
# oracle = "self"
# ///
"""Scales numbers by two to the power of the int32 exponents 1, -1 and -2, and asks for the gradient. It should be 2, a
half and a quarter, as with the same exponents in floating point. Instead the power is taken in whole numbers, and the
gradient is zero for negative exponents."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed.floor()
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)

    def gradient(exponents):
        numbers = torch.full((3,), 0.5, dtype=torch.float64, requires_grad=True)
        torch.ldexp(numbers, exponents).sum().backward()
        return numbers.grad

    powers = torch.tensor([1, -1, -2], dtype=torch.int32)
    got = gradient(powers)
    got = spoil(got)
    truth = [2.0, 0.5, 0.25]
    forward = torch.ldexp(torch.ones(3, dtype=torch.float64), powers).tolist()
    expected = gradient(powers.double()).tolist()
    if forward != truth or expected != truth:
        return 125, "the workaround path fails too: forward %s, floating-point exponents %s" % (forward, expected)
    if got.tolist() == truth:
        return 0, "the gradient is %s" % got.tolist()
    return 1, "the gradient is %s instead of %s" % (got.tolist(), truth)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
