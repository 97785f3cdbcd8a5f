# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#79788"]
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
"""Copies a list of two parameters of which the second is a view into the first. The copies should share memory as plain
tensors' copies do. Instead each parameter copies its own elements and the tie is lost."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = False
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import copy

    import torch

    def tied(wrap):
        base = torch.zeros(4)
        first, second = copy.deepcopy([wrap(base), wrap(base[:2])])
        with torch.no_grad():
            first[0] = 5
        return float(second.detach()[0]) == 5

    got = tied(torch.nn.Parameter)
    got = spoil(got)
    if not tied(lambda tensor: tensor):
        return 125, "the workaround path fails too: copies of plain tensors are not tied either"
    if got:
        return 0, "the copies share their memory"
    return 1, "a change of one copy does not reach the other"


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
