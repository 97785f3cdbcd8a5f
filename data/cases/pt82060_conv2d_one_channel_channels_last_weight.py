# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#82060"]
# relation = "same"
# bug_type = "memory"
# memory_type = "memory_format"
# memory_subtype = "channel_management"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = []
# signature = "mismatch"
# oracle = "self"
# ///
"""Convolves an image of one channel in the default layout with a weight that was converted to channels-last. The
layout must not change a number. The report shows wrong numbers on the CPU for one channel only, where both
layouts are legal readings of the same strides."""

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

    torch.manual_seed(0)
    image, weight = torch.randn(2, 1, 10, 10), torch.randn(4, 1, 3, 3)
    patches = torch.nn.functional.unfold(image.double(), 3, padding=1)
    truth = (weight.double().reshape(4, 9) @ patches).reshape(2, 4, 10, 10)
    for fused in (True, False):
        with torch.backends.mkldnn.flags(enabled=fused):
            expected = torch.nn.functional.conv2d(image, weight, padding=1)
            got = torch.nn.functional.conv2d(image, weight.to(memory_format=torch.channels_last), padding=1)
        got = spoil(got)
        if not torch.allclose(expected.double(), truth, atol=1e-4):
            return 125, "the workaround path fails too: the default layout gives wrong numbers"
        if not torch.allclose(got.double(), truth, atol=1e-4):
            return 1, "channels-last weight, oneDNN %s: %s" % ("on" if fused else "off", where_off(got, truth))
    return 0, "a channels-last weight gives the same numbers, with and without oneDNN"


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
