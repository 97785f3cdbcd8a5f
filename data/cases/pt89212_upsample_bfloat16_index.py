# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#89212"]
# relation = "sibling"
# bug_type = "memory"
# memory_type = "indexing"
# memory_subtype = "data_type"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = ["1.13.1", "2.0.1"]
# fixed_in = "2.1.2"
# signature = "mismatch"
# oracle = "self"
# ///
"""Doubles the height of a tall bfloat16 image, bilinearly. Only its last row is one. The rows of the output must
differ from a float32 run by rounding only. Instead source positions are computed in eight bits of mantissa, so rows
mix in neighbours that are too far away, up to the one behind the image."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed + 0.5
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    height = 540
    image = torch.zeros(1, 1, height, 2)
    image[:, :, height - 1] = 1

    def enlarge(picture):
        size = (2 * height, 2)
        return torch.nn.functional.interpolate(picture, size=size, mode="bilinear", align_corners=True).double()

    got = enlarge(image.bfloat16())
    got = spoil(got)
    expected = enlarge(image)
    position = torch.arange(2 * height, dtype=torch.float64) * (height - 1) / (2 * height - 1)
    truth = (position - (height - 2)).clamp(min=0).reshape(1, 1, -1, 1)
    if float((expected - truth).abs().max()) > 1e-3:
        return 125, "the workaround path fails too: the float32 image is interpolated wrongly"
    wrong = float((got - truth).abs().max())
    if wrong <= 1 / 64:
        return 0, "the bfloat16 image differs by %.3g at most" % wrong
    return 1, "a row of the bfloat16 image is off by %.3g" % wrong


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
