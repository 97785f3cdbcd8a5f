# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#88612"]
# relation = "same"
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
"""Draws a Bernoulli sample for every element of a channels-last image of probabilities. The result should keep the
format, as torch.rand_like and the in-place variant do. Instead it has the default, contiguous strides."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = (60, 20, 5, 1)
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.manual_seed(0)
    chances = torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last)
    got = torch.bernoulli(chances).stride()
    got = spoil(got)
    sample = torch.empty_like(chances).bernoulli_(chances)
    expected = sample.stride()
    if expected != chances.stride() or not bool(((sample == 0) | (sample == 1)).all()):
        return 125, "the workaround path fails too: the in-place sample has strides %s" % (expected,)
    if got == expected:
        return 0, "the sample is channels-last, as its probabilities are"
    return 1, "the sample has strides %s, its probabilities have %s" % (got, expected)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
