# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#184036"]
# relation = "sibling"
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
"""Measures the distance of two points, 4.5 and 1 apart, by the norm of power 100 in single precision. It is 4.5 up to
the last place. Instead it is infinite: the powers are not scaled and overflow before the root is taken."""

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

    torch.set_num_threads(1)
    left = torch.tensor([[4.5, 1.0]])
    right = torch.tensor([[0.0, 0.0]])
    truth = 4.5  # the largest difference; what the other adds is below the last place
    got = torch.nn.PairwiseDistance(p=100.0, eps=0.0)(left, right).item()
    got = spoil(got)
    double = torch.nn.PairwiseDistance(p=100.0, eps=0.0)(left.double(), right.double()).item()
    largest = torch.nn.PairwiseDistance(p=float("inf"), eps=0.0)(left, right).item()
    if abs(double - truth) > 1e-6 or largest != truth:
        return 125, "the workaround path fails too: %.9g in double precision, greatest %.9g" % (double, largest)
    if abs(got - truth) < 1e-3:
        return 0, "the distance is %.9g, as it should be" % got
    return 1, "the distance is %g instead of %g" % (got, truth)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
