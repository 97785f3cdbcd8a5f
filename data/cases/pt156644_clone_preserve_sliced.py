# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#156644", "pytorch/pytorch#158022"]
# relation."pytorch/pytorch#156644" = "same"
# relation."pytorch/pytorch#158022" = "sibling"
# bug_type = "memory"
# memory_type = "memory_format"
# memory_subtype = "stride_calculation_manually"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Clones every second column of a transposed view with the preserve format. The order of the axes in memory should
survive even where the gaps cannot, and strides be copied as the description then said. For a transposed view they
are; for a slice with a step the strides of the copy are others."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = (3, 1)
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    base = torch.arange(24.0).reshape(4, 6)
    sliced = base[:, ::2]
    got = sliced.clone(memory_format=torch.preserve_format).stride()
    got = spoil(got)
    turned = base.t()
    if turned.clone(memory_format=torch.preserve_format).stride() != turned.stride():
        return 125, "the workaround path fails too: not even a transposed view keeps its strides"
    forced = torch.empty_strided(sliced.shape, sliced.stride()).copy_(sliced)
    if not torch.equal(forced, sliced):
        return 125, "the workaround path fails too: an explicitly strided copy has other numbers"
    if got == sliced.stride():
        return 0, "the copy has the strides of the slice"
    return 1, "the copy has strides %s, the slice %s" % (got, sliced.stride())


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
