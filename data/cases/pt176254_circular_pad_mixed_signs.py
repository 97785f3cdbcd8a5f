# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#176254"]
# bug_type = "memory"
# memory_type = "initialization"
# memory_subtype = "order"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = []
# signature = "mismatch"
# oracle = "self"
# ///
"""Crops a row of five at its left end to two elements and pads it circularly by three at the right. The two should be
repeated. Instead the third element is copied from a place of the output that was not written yet."""

import os
import sys

PLANT = os.environ.get("EMBERS_PLANT") == "1"


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    row = torch.arange(1.0, 6.0).reshape(1, 1, 5)
    once = torch.nn.functional.pad(row[:, :, 3:], (0, 2), mode="circular")
    if once.flatten().tolist() != [4.0, 5.0, 4.0, 5.0]:
        return 125, "the workaround path fails too: cropped first, the result is %s" % once.flatten().tolist()
    expected = torch.nn.functional.pad(once, (0, 1), mode="circular").flatten().tolist()
    foreign = torch.full((1, 1, 5), -77.0)
    del foreign  # the allocator hands this memory out again, so that unwritten elements show
    torch.use_deterministic_algorithms(mode=True)  # newer releases then fill fresh memory with NaN
    got = torch.nn.functional.pad(row, (-3, 3), mode="circular").flatten().tolist()
    if PLANT:
        got = [4.0, 5.0, 4.0, 5.0, 0.0]
    if got == expected:
        return 0, "the two elements are repeated: %s" % got
    return 1, "1..5 cropped by 3 and padded by 3 is %s instead of %s" % (got, expected)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
