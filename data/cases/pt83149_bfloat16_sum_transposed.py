# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#83149"]
# bug_type = "memory"
# memory_type = "non_contiguous"
# memory_subtype = "input_tensor_management"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = []
# signature = "mismatch"
# oracle = "self"
# ///
"""Sums a transposed bfloat16 tensor of ones over three axes. The count must be right up to one rounding to eight
bits. Instead partial sums are rounded on their way, and the result is off by a tenth."""

import os
import sys

PLANT = os.environ.get("EMBERS_PLANT") == "1"


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    worst = (0.0, "")
    for one in range(4):
        for other in range(one):
            ones = torch.ones(2, 5, 13, 30, dtype=torch.bfloat16).transpose(one, other)
            truth = ones.float().sum((0, 2, 3))
            got = ones.sum((0, 2, 3)).float()
            if PLANT:
                got = got * 1.2
            dense = ones.contiguous().sum((0, 2, 3)).float()
            # Eight bits of mantissa: an honest rounding of the count is at most 1/256 of it away.
            if ((dense - truth).abs() > truth / 256).any():
                return 125, "the workaround path fails too: the dense sum of ones is %g for %g" % (dense[0], truth[0])
            wrong = float(((got - truth) / truth).abs().max())
            worst = max(worst, (wrong, "axes %d and %d swapped: sum %g for %g ones" % (other, one, got[0], truth[0])))
    if worst[0] <= 1 / 256:
        return 0, "every sum of ones is rounded once at most"
    return 1, worst[1]


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
