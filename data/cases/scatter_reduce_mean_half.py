# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = []
# bug_type = "data_type"
# consequence = "nan_inf"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Averages four thousand half-precision numbers of sixty at a single index, by scatter_reduce. Sixty is due. Instead
the sum, which half precision cannot hold, is rounded before it is divided, and the mean is infinite."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = float("inf")
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    numbers, index = torch.full((4096,), 60.0), torch.zeros(4096, dtype=torch.long)

    def mean(kind):
        target = torch.zeros(1, dtype=kind)
        return float(target.scatter_reduce(0, index, numbers.to(kind), "mean", include_self=False))

    got = mean(torch.float16)
    got = spoil(got)
    if mean(torch.float32) != 60:
        return 125, "the workaround path fails too: in float32 the mean is %g" % mean(torch.float32)
    if abs(got - 60) < 0.1:
        return 0, "the mean is %g" % got
    return 1, "the mean of 4096 times sixty is %g" % got


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
