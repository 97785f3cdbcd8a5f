# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#193682"]
# relation = "sibling"
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
"""Lets LinearLR raise the rate from a half over no steps at all. The ramp is over before it begins, so that the full
rate should hold, as it does with PolynomialLR. Instead the first factor is applied and never taken back."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = [0.5, 0.5, 0.5]
    return observed


WORDS = ("total_iters",)


def is_refusal(error):
    """True where error is the refusal that is due here, by its type and its words."""
    return isinstance(error, (RuntimeError, ValueError, IndexError)) and any(word in str(error) for word in WORDS)


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    schedulers = torch.optim.lr_scheduler

    def rates(make):
        optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
        scheduler = make(optimizer)
        seen = [optimizer.param_groups[0]["lr"]]
        for _ in range(2):
            optimizer.step()
            scheduler.step()
            seen.append(optimizer.param_groups[0]["lr"])
        return seen

    one_step = rates(lambda optimizer: schedulers.LinearLR(optimizer, start_factor=0.5, total_iters=1))
    polynomial = rates(lambda optimizer: schedulers.PolynomialLR(optimizer, total_iters=0))
    if one_step != [0.5, 1.0, 1.0] or polynomial != [1.0, 1.0, 1.0]:
        return 125, "the workaround path fails too: one step %s, polynomial %s" % (one_step, polynomial)
    try:
        got = rates(lambda optimizer: schedulers.LinearLR(optimizer, start_factor=0.5, total_iters=0))
    except ValueError as error:
        if not is_refusal(error):
            raise
        got = error
    got = spoil(got)
    if isinstance(got, Exception):
        return 0, "no steps at all are refused"
    if got[1:] == [1.0, 1.0]:
        return 0, "after no steps of warming up the rates are %s" % got
    return 1, "with no steps of warming up the rates stay at %s instead of 1" % got


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
