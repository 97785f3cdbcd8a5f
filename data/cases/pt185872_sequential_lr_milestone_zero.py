# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#185872"]
# relation = "same"
# bug_type = "logical"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1",
# ]
# fixed_in = "2.13.0"
# signature = "mismatch"
# oracle = "self"
# ///
"""Chains two constant schedules of a learning rate with the first milestone at step zero, so that the second schedule
rules from the start. The first rate should be the second schedule's. Instead it is the first schedule's, by an off-
by-one in the choice."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = 0.1
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    schedules = torch.optim.lr_scheduler

    def first_rate(milestone):
        optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
        early = schedules.ConstantLR(optimizer, factor=0.1, total_iters=100)
        late = schedules.ConstantLR(optimizer, factor=0.5, total_iters=100)
        schedules.SequentialLR(optimizer, [early, late], milestones=[milestone])
        return optimizer.param_groups[0]["lr"]

    got = first_rate(0)
    got = spoil(got)
    if abs(first_rate(3) - 0.1) > 1e-9:
        return 125, "the workaround path fails too: with a later milestone the rate is %g" % first_rate(3)
    if abs(got - 0.5) < 1e-9:
        return 0, "the second schedule rules from the start: %g" % got
    return 1, "with a milestone at zero the first rate is %g, the second schedule says 0.5" % got


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
