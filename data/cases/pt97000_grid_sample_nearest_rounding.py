# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#97000"]
# relation = "same"
# bug_type = "indexing"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = ["1.13.1", "2.0.1"]
# fixed_in = "2.1.2"
# signature = "mismatch"
# oracle = "self"
# ///
"""Samples a row of pixels by the nearest rule at places that lie half-way between two pixels, once as an image and once
as a volume of depth one. Both must pick the same pixels. Instead the volume rounds halves away from zero and the
image to even numbers."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = [value + 5 for value in observed]
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    row = torch.arange(5.0).reshape(1, 1, 1, 5)
    sample = torch.nn.functional.grid_sample

    def pick(places):
        along = torch.tensor(places).reshape(1, 1, -1, 1)
        flat = torch.cat([along, torch.zeros_like(along)], -1)
        deep = torch.cat([along, torch.zeros_like(along), torch.zeros_like(along)], -1)[:, None]
        image = sample(row, flat, mode="nearest", align_corners=True).flatten().tolist()
        return image, sample(row[:, :, None], deep, mode="nearest", align_corners=True).flatten().tolist()

    if pick([-0.9, -0.4, 0.4, 0.9]) != ([0.0, 1.0, 3.0, 4.0], [0.0, 1.0, 3.0, 4.0]):
        return 125, "the workaround path fails too: away from halves other pixels are picked"
    image, volume = pick([-0.75, -0.25, 0.25, 0.75])
    volume = spoil(volume)
    if image == volume:
        return 0, "image and volume pick the pixels %s" % image
    return 1, "at 0.5, 1.5, 2.5 and 3.5 the image picks %s, the volume %s" % (image, volume)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
