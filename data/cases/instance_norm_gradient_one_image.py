# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = []
# bug_type = "memory"
# memory_type = "memory_format"
# memory_subtype = "channel_management"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Normalises the channels of a single image and sends a channels-last gradient back, as a convolution behind it would.
The layout of a gradient must not matter. Instead the gradient of the image is wrong for a batch of one: instance
normalisation hands the gradient through a view, after which its strides are read in another order than its elements
have."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed + 1
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.manual_seed(0)
    image = torch.randn(1, 3, 4, 5, dtype=torch.float64)
    upstream = torch.randn(1, 3, 4, 5, dtype=torch.float64)

    def gradient(normalise, upstream):
        leaf = image.clone().requires_grad_()
        return torch.autograd.grad(normalise(leaf), leaf, upstream)[0]

    def by_hand(x):
        mean = x.mean((2, 3), keepdim=True)
        return (x - mean) / (((x - mean) ** 2).mean((2, 3), keepdim=True) + 1e-5).sqrt()

    norm = torch.nn.functional.instance_norm
    got = gradient(norm, upstream.contiguous(memory_format=torch.channels_last))
    got = spoil(got)
    expected = gradient(norm, upstream)
    if not torch.allclose(expected, gradient(by_hand, upstream), atol=1e-6):
        return 125, "the workaround path fails too: the dense gradient disagrees with one by hand"
    wrong = float((got - expected).abs().max())
    if wrong < 1e-6:
        return 0, "the gradient does not depend on the layout of what comes from above"
    return 1, "with a channels-last gradient from above the result is off by up to %.3g" % wrong


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
