# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#163103"]
# relation = "same"
# bug_type = "logical"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = ["2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1"]
# fixed_in = "2.10.0"
# signature = "mismatch"
# oracle = "self"
# ///
"""Keeps what a scheduler reports as the last learning rate, where the rate is a tensor, and steps on. The value that
was kept must not change. Instead it is the optimizer's own tensor and changes with every step."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed / 2
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    def kept(rate):
        optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=rate)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
        first = scheduler.get_last_lr()[0]
        before = float(first)
        optimizer.step()
        scheduler.step()
        return before, float(first)

    before, after = kept(torch.tensor(1.0))
    after = spoil(after)
    if kept(1.0) != (1.0, 1.0):
        return 125, "the workaround path fails too: with a number the report is %s" % (kept(1.0),)
    if before == after == 1.0:
        return 0, "the report keeps its value"
    return 1, "the reported rate was %g and is %g after the next step" % (before, after)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
