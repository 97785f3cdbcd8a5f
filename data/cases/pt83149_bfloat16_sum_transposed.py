# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#83149", "pytorch/pytorch#108559"]
# relation = "same"
# bug_type = "memory"
# memory_type = "non_contiguous"
# memory_subtype = "input_tensor_management"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = ["1.13.1", "2.0.1", "2.1.2", "2.2.2"]
# fixed_in = "2.3.1"
# signature = "mismatch"
# oracle = "self"
# ///
"""Transposes the last two axes of a bfloat16 tensor of ones and sums over the first three axes. The count must be
right up to one rounding to eight bits. Instead partial sums are rounded on their way to memory, and the count is
off by a tenth; a dense tensor is counted right."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed * 1.2
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    ones = torch.ones(10, 13, 3, 3, dtype=torch.bfloat16)
    truth = 390.0
    got = ones.transpose(2, 3).sum((0, 1, 2)).float()
    got = spoil(got)
    dense = ones.transpose(2, 3).contiguous().sum((0, 1, 2)).float()
    single = ones.float().transpose(2, 3).sum((0, 1, 2))
    # Eight bits of mantissa: one honest rounding moves the count by at most 1/256 of it.
    if (single != truth).any() or ((dense - truth).abs() > truth / 256).any():
        return 125, "the workaround path fails too: dense ones sum to %g, single precision to %g" % (
            dense[0],
            single[0],
        )
    if ((got - truth).abs() <= truth / 256).all():
        return 0, "the transposed ones sum to %s" % got.tolist()
    return 1, "the transposed ones sum to %s instead of %g" % (got.tolist(), truth)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
