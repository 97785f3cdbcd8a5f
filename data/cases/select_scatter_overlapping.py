# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = []
# bug_type = "memory"
# memory_type = "non_contiguous"
# memory_subtype = "input_tensor_management"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0",
#     "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Puts a row into windows that slide over a signal, whose elements share memory. The result has memory of its own, and
only what is put in may differ. Instead the copy overlaps itself as the windows do, and elements change that were
not asked for."""

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

    rows = torch.arange(6.0).unfold(0, 3, 1)
    truth = rows.clone(memory_format=torch.contiguous_format)
    truth[0] = -1.0
    got = torch.select_scatter(rows, torch.full((3,), -1.0), 0, 0)
    got = spoil(got)
    dense = torch.select_scatter(rows.contiguous(), torch.full((3,), -1.0), 0, 0)
    if not torch.equal(dense, truth):
        return 125, "the workaround path fails too: dense windows give another result"
    if torch.equal(got, truth):
        return 0, "only what was put in differs"
    return 1, "%d of %d elements are wrong" % (int((got != truth).sum()), truth.numel())


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
