# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#196243"]
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
"""Puts a SequentialLR of two constant schedules into another SequentialLR that has no milestones. The learning rates
should be the same as without the outer one. Instead building it moves the inner one, and the first steps have other
rates: the second schedule begins early."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed[1] = 0.02
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    import warnings

    from torch.optim.lr_scheduler import ConstantLR, SequentialLR

    warnings.simplefilter("ignore")

    def rates(levels):
        optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.1)
        parts = [ConstantLR(optimizer, factor=0.5, total_iters=2), ConstantLR(optimizer, factor=0.2, total_iters=10)]
        scheduler = SequentialLR(optimizer, parts, milestones=[2])
        for _ in range(levels - 1):
            scheduler = SequentialLR(optimizer, [scheduler], milestones=[])
        seen = []
        for _ in range(4):
            seen.append(round(optimizer.param_groups[0]["lr"], 6))
            optimizer.step()
            scheduler.step()
        return seen

    got = rates(2)
    got = spoil(got)
    expected = rates(1)
    if expected != [0.05, 0.05, 0.02, 0.02]:
        return 125, "the workaround path fails too: without the outer one %s" % expected
    if got == expected:
        return 0, "the learning rates are %s" % got
    return 1, "the learning rates are %s instead of %s" % (got, expected)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
