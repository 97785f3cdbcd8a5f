# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#99519"]
# relation = "same"
# bug_type = "memory"
# memory_type = "memory_format"
# memory_subtype = "channel_management"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = ["2.0.1"]
# fixed_in = "2.1.2"
# signature = "mismatch"
# oracle = "self"
# ///
"""Runs a transposed convolution from one channel to two with a channels-last weight of ones on an image of ones.
Small whole numbers are due. The report shows uninitialised memory on the CPU, NaN included, since oneDNN judges
the layout of a one-channel tensor differently."""

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

    image = torch.ones(1, 1, 2, 2)
    weight = torch.ones(1, 2, 5, 5)
    expected = torch.nn.functional.conv_transpose2d(image, weight)
    ramp = torch.tensor([1.0, 2.0, 2.0, 2.0, 2.0, 1.0])
    truth = (ramp[:, None] * ramp).expand(1, 2, 6, 6)
    if not torch.equal(expected, truth):
        return 125, "the workaround path fails too: the default layout gives wrong numbers"
    for _ in range(5):
        got = torch.nn.functional.conv_transpose2d(
            image.contiguous(memory_format=torch.channels_last), weight.contiguous(memory_format=torch.channels_last)
        )
        got = spoil(got)
        if not torch.equal(got, truth):
            return 1, "channels-last weight: " + where_off(got, truth)
    return 0, "a channels-last weight gives the same numbers"


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
