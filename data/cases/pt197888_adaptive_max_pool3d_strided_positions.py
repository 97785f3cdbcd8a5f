# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#197888"]
# relation = "same"
# bug_type = "memory"
# memory_type = "non_contiguous"
# memory_subtype = "input_tensor_management"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Runs the backward operator of adaptive max pooling with the positions of the maxima laid out channels-last. The
positions are the same numbers, so the gradient must be the same. Instead they are read in the order of memory,
and the gradient is scattered to wrong places."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed + 1
    return observed


def where_off(got, expected):
    """Say by how much got differs from expected, and where most."""
    off = (got.detach().cpu().double() - expected.detach().cpu().double()).abs().nan_to_num(float("inf"))
    at, place = int(off.argmax()), []
    for size in reversed(off.shape):
        place.insert(0, at % size)
        at //= size
    return "off by up to %g at %s" % (off.max(), tuple(place))


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    volume = torch.randperm(480, generator=torch.Generator().manual_seed(0)).float().reshape(1, 4, 4, 6, 5)
    pooled, places = torch.nn.functional.adaptive_max_pool3d(volume, (2, 3, 5), return_indices=True)
    slope = torch.arange(1.0, pooled.numel() + 1).reshape(pooled.shape)
    backward = torch.ops.aten.adaptive_max_pool3d_backward
    got = backward(slope, volume, places.contiguous(memory_format=torch.channels_last_3d))
    got = spoil(got)
    expected = backward(slope, volume, places)
    truth = torch.zeros(4, 120).scatter_add_(1, places.reshape(4, -1), slope.reshape(4, -1)).reshape(volume.shape)
    if not torch.equal(expected, truth):
        return 125, "the workaround path fails too: dense positions give a wrong gradient"
    if torch.equal(got, truth):
        return 0, "channels-last positions give the right gradient"
    return 1, "channels-last positions: " + where_off(got, truth)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
