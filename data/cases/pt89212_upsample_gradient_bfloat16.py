# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#89212", "pytorch/pytorch#91169"]
# relation."pytorch/pytorch#89212" = "sibling"
# relation."pytorch/pytorch#91169" = "same"
# bug_type = "data_type"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = ["1.13.1", "2.0.1"]
# fixed_in = "2.1.2"
# signature = "mismatch"
# oracle = "self"
# ///
"""Differentiates the enlargement of one bfloat16 pixel to 64 by 64. Its gradient adds four thousand halves, 2048, which
bfloat16 holds exactly. Instead every addition is rounded to bfloat16, and the sum stops at 128."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = [128.0, 128.0]
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    def gradient(kind, mode):
        pixel = torch.zeros(1, 4, 1, 1, dtype=kind, requires_grad=True)
        picture = torch.nn.functional.interpolate(pixel, size=64, mode=mode)
        return float(torch.autograd.grad(picture, pixel, torch.full_like(picture, 0.5))[0].flatten()[0])

    got = [gradient(torch.bfloat16, mode) for mode in ("nearest", "bilinear")]
    got = spoil(got)
    expected = [gradient(torch.float32, mode) for mode in ("nearest", "bilinear")]
    if any(abs(value - 2048) > 1 for value in expected):
        return 125, "the workaround path fails too: in float32 the gradients are %s" % expected
    if all(abs(value - 2048) <= 16 for value in got):
        return 0, "nearest and bilinear gradients are %s" % got
    return 1, "4096 halves add up to %g by the nearest rule and %g by the bilinear one" % tuple(got)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
