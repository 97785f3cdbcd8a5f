# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#187743"]
# relation = "same"
# bug_type = "logical"
# consequence = "runtime_error"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0",
# ]
# fixed_in = "2.14.1"
# signature = "ZeroDivisionError"
# oracle = "self"
# ///
"""Pools with a power mean of order zero. No such mean exists, and a ValueError should say so. Older releases divide
one by the order in Python and let the ZeroDivisionError of the implementation out."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = ZeroDivisionError("injected")
    return observed


def is_refusal(error):
    """True where error is the refusal that is due here, by its type and its words."""
    return isinstance(error, ValueError) and "norm" in str(error)


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    pool = torch.nn.functional.lp_pool2d
    if pool(torch.full((1, 1, 2, 2), 3.0), 2.0, 2).item() != 6.0:
        return 125, "the workaround path fails too: the mean of order two is wrong"
    try:
        pool(torch.ones(1, 1, 2, 2), 0, 2)
        refused = None
    except (ZeroDivisionError, ValueError) as error:
        if not isinstance(error, ZeroDivisionError) and not is_refusal(error):
            raise
        refused = error
    refused = spoil(refused)
    if refused is None:
        return 0, "order zero is accepted"
    return int(isinstance(refused, ZeroDivisionError)), "%s: %s" % (type(refused).__name__, refused)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
