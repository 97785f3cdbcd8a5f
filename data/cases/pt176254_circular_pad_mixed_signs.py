# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#176254"]
# relation = "sibling"
# bug_type = "memory"
# memory_type = "initialization"
# memory_subtype = "order"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Crops two-row images to their first row and pads them circularly by two rows at the top. That row should be repeated.
Instead the first row is copied from a place of the output that was not written yet."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed * 0
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    images = torch.arange(1.0, 13.0).reshape(1, 2, 2, 3)
    cropped = images[:, :, :1]
    once = torch.nn.functional.pad(cropped, (0, 0, 1, 0), mode="circular")
    if not torch.equal(once, cropped.expand(1, 2, 2, 3)):
        return 125, "the workaround path fails too: cropped first, a row is not repeated"
    foreign = torch.full((1, 2, 3, 3), -77.0)
    del foreign  # the allocator hands this memory out again, so that elements that were never written show
    got = torch.nn.functional.pad(images, (0, 0, 2, -1), mode="circular")
    got = spoil(got)
    if torch.equal(got, cropped.expand(1, 2, 3, 3)):
        return 0, "the row is repeated"
    return 1, "before the row %s stands %s" % (cropped[0, 0, 0].tolist(), got[0, 0, 0].tolist())


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
