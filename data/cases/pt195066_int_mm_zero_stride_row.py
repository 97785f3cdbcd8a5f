# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#195066"]
# relation = "same"
# bug_type = "memory"
# memory_type = "non_contiguous"
# memory_subtype = "input_tensor_management"
# consequence = "silent_correctness"
# requires = ["cpu", "torch>=2.4"]
# known_bad = ["2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0", "2.12.1", "2.13.0", "2.14.1"]
# fixed_in = "2.15.0"
# signature = "mismatch"
# oracle = "self"
# ///
"""Multiplies one row of int8 numbers, whose unused row stride is zero, with an int8 matrix. The stride of an axis of
size one means nothing. Instead the call returns without computing, and the result shows whatever the memory held."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed + 1
    return observed


def where_off(got, expected):
    """Say by how much got differs from expected, and where most."""
    off = (got.detach().cpu().double() - expected.detach().cpu().double()).abs().nan_to_num(float("inf"))
    at, place = int(off.argmax()), []
    for size in reversed(off.shape):
        place.insert(0, at % size)
        at //= size
    return "off by up to %g at %s" % (off.max(), tuple(place))


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    if not hasattr(torch, "_int_mm"):
        return 125, "this release has no int8 matrix product"
    numbers = torch.arange(32, dtype=torch.int8)
    matrix = torch.ones(32, 16, dtype=torch.int8)
    matrix[:, 3] = 2
    truth = (numbers.int().reshape(1, 32) @ matrix.int()).int()
    try:
        expected = torch._int_mm(numbers.reshape(1, 32), matrix)
    except NotImplementedError:
        return 125, "this release has no int8 matrix product for the CPU"
    if not torch.equal(expected, truth):
        return 125, "the workaround path fails too: a row with an ordinary stride gives wrong numbers"
    for _ in range(3):
        got = torch._int_mm(torch.as_strided(numbers, (1, 32), (0, 1)), matrix)
        got = spoil(got)
        if not torch.equal(got, truth):
            return 1, "a row with stride zero: " + where_off(got, truth)
    return 0, "a row with stride zero gives the right product"


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
