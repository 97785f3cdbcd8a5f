# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#107842", "pytorch/pytorch#116482"]
# relation = "same"
# bug_type = "memory"
# memory_type = "non_contiguous"
# memory_subtype = "input_tensor_management"
# consequence = "silent_correctness"
# requires = ["cuda"]
# known_bad = []
# signature = "mismatch"
# oracle = "self"
# ///
"""Pools a batch of one-channel images in the channels-last layout on the GPU. Each image must return its own maxima.
Instead all return those of the first one, because the stride of the channel axis, which means nothing there, is
used as the distance between images."""

import os
import sys

DEVICE = "cuda"


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

    if not torch.cuda.is_available():
        return 125, "no CUDA device here"
    images = torch.arange(3 * 16.0).reshape(3, 1, 4, 4)
    truth = images.reshape(3, 1, 2, 2, 2, 2).amax((3, 5))
    moved = images.to(DEVICE)
    # One channel: the stride of its axis means nothing, and a channels-last tensor states one there.
    strided = moved.as_strided((3, 1, 4, 4), (16, 1, 4, 1))
    pool = torch.nn.functional.adaptive_max_pool2d
    if not torch.equal(pool(moved, 2).cpu(), truth):
        return 125, "the workaround path fails too: the default layout gives wrong maxima"
    got = pool(strided, 2).cpu()
    got = spoil(got)
    if torch.equal(got, truth):
        return 0, "each image returns its own maxima"
    return 1, "the maxima are " + where_off(got, truth)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
