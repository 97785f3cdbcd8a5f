# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#64947"]
# relation = "same"
# bug_type = "resource_limit"
# consequence = "runtime_error"
# requires = ["cpu", "memory>=1GiB"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0",
# ]
# fixed_in = "2.14.1"
# signature = "RuntimeError: quantile() input tensor is too large"
# oracle = "self"
# ///
"""Asks for the median of a little more than 2**24 numbers, 64 MiB in all. Memory is not the problem, and kthvalue
finds the same number. Older releases refuse by a fixed limit."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        raise RuntimeError("quantile() input tensor is too large")
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    numbers = torch.zeros((1 << 24) + 1)
    numbers[0] = -1.0
    if numbers[: 1 << 20].quantile(0.5).item() != 0.0 or numbers.kthvalue((1 << 23) + 1).values.item() != 0.0:
        return 125, "the workaround path fails too: kthvalue does not find the median"
    try:
        median = numbers.quantile(0.5).item()
        median = spoil(median)
    except RuntimeError as error:
        if "input tensor is too large" not in str(error):
            raise
        return 1, "RuntimeError: %s" % str(error).splitlines()[0]
    if median != 0.0:
        return 125, "the median is %g, not zero" % median
    return 0, "the median of 2**24 + 1 numbers is found"


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
