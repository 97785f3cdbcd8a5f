# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#192212", "pytorch/pytorch#192303"]
# relation = "same"
# bug_type = "memory"
# memory_type = "non_contiguous"
# memory_subtype = "input_tensor_management"
# consequence = "silent_correctness"
# requires = ["mps"]
# known_bad = []
# signature = "mismatch"
# oracle = "self"
# ///
"""Convolves images with a filter that is cut out of a five-dimensional weight. The result must be the one of a dense
copy. Instead the graph convolution does not honour the strides of the filter, and the numbers are plausible and
completely wrong."""

import os
import sys

DEVICE = "mps"


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

    if not torch.backends.mps.is_available():
        return 125, "no MPS device here"
    torch.manual_seed(0)
    weight, images = torch.randn(3, 8, 3, 3, 3), torch.randn(2, 8, 12, 12)
    patches = torch.nn.functional.unfold(images.double(), 3)
    truth = (weight[:, :, 1].double().reshape(3, 72) @ patches).reshape(2, 3, 10, 10)
    device_weight = weight.to(DEVICE)
    dense = torch.nn.functional.conv2d(images.to(DEVICE), device_weight[:, :, 1].contiguous()).cpu()
    if not torch.allclose(dense.double(), truth, atol=1e-3):
        return 125, "the workaround path fails too: a dense filter gives wrong numbers"
    got = torch.nn.functional.conv2d(images.to(DEVICE), device_weight[:, :, 1]).cpu()
    got = spoil(got)
    if torch.allclose(got.double(), truth, atol=1e-3):
        return 0, "the sliced filter gives the right numbers"
    return 1, "the sliced filter: " + where_off(got, truth)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
