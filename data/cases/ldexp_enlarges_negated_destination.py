# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = []
# bug_type = "memory"
# memory_type = "checking"
# memory_subtype = "input_checking"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
# ]
# fixed_in = "2.11.0"
# signature = "mismatch"
# oracle = "self"
# ///
"""Multiplies a lazily negated column in place by powers of two of a wider shape. An in-place operation must refuse to
broadcast its destination. Instead the column is given the wider shape, and what lies behind it in memory is
overwritten."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed + 1
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    exponents = torch.ones(3, 4)
    full = torch.ones(3, 4)
    full.ldexp_(exponents)
    if not torch.equal(full, torch.full((3, 4), 2.0)):
        return 125, "the workaround path fails too: a destination of the right size gets other values"
    memory = torch.full((64,), 77.0)
    shape = (3, 1)
    try:
        shape = tuple(torch._neg_view(memory[:3].view(3, 1)).ldexp_(exponents).shape)
        accepted = True
    except RuntimeError as error:
        if "broadcast shape" not in str(error):
            raise
        accepted = False
    memory = spoil(memory)
    around = int((memory[3:] != 77).sum())
    if around:
        return 1, "the column has shape %s, and %d elements behind it are overwritten" % (shape, around)
    return 0, "nothing behind the column is overwritten; the call was " + ("accepted" if accepted else "refused")


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
