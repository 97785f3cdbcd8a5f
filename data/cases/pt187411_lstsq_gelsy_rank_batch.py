# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#187411"]
# relation = "same"
# bug_type = "memory"
# memory_type = "initialization"
# memory_subtype = "order"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0",
# ]
# fixed_in = "2.14.1"
# signature = "mismatch"
# oracle = "self"
# ///
"""Solves two least squares problems in one batch with the driver gelsy: the identity, and a matrix of rank two. The
ranks should be three and two, as for each alone. Instead the second begins with the pivots of the first, and its rank
is zero."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = [3, 0]
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    matrices = torch.zeros(2, 3, 3, dtype=torch.float64)
    matrices[0] = torch.eye(3)
    matrices[1, 0, 1] = matrices[1, 1, 2] = 1
    right = torch.ones(2, 3, 1, dtype=torch.float64)
    got = torch.linalg.lstsq(matrices, right, driver="gelsy").rank.tolist()
    got = spoil(got)
    expected = torch.linalg.lstsq(matrices, right, driver="gelsd").rank.tolist()
    truth = torch.linalg.matrix_rank(matrices).tolist()
    if expected != [3, 2] or truth != [3, 2]:
        return 125, "the workaround path fails too: gelsd says %s, matrix_rank %s" % (expected, truth)
    if got == truth:
        return 0, "the ranks are %s" % got
    return 1, "the ranks are %s instead of %s" % (got, truth)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
