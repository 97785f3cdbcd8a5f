# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#83847"]
# bug_type = "memory"
# memory_type = "indexing"
# memory_subtype = "data_type"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = []
# signature = "mismatch"
# oracle = "self"
# ///
"""Doubles a channels-last bfloat16 image of ones, bilinearly. Ones must come out. Instead the kernel for that layout
computes source positions in bfloat16, reaches the row behind the image, and mixes in what lies there; the case puts
a known row of nines behind it."""

import os
import sys

PLANT = os.environ.get("EMBERS_PLANT") == "1"


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    tall = torch.full((1, 8, 541, 4), 9.0)
    tall[:, :, :540] = 1
    tall = tall.to(torch.bfloat16).contiguous(memory_format=torch.channels_last)
    image = tall[:, :, :540]

    def enlarge(picture):
        size = (1080, 8)
        return torch.nn.functional.interpolate(picture, size=size, mode="bilinear", align_corners=False).double()

    got = enlarge(image)
    if PLANT:
        got = got * 2
    if float((enlarge(image.float()) - 1).abs().max()) > 1e-6:
        return 125, "the workaround path fails too: a float32 image of ones is not ones"
    wrong = float((got - 1).abs().max())
    if wrong <= 1 / 64:
        return 0, "ones stay ones"
    return 1, "an image of ones gets an element that is off by %.3g" % wrong


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
