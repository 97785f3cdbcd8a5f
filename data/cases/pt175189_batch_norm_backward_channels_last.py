# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#175189", "pytorch/pytorch#188371"]
# relation = "same"
# bug_type = "memory"
# memory_type = "memory_format"
# memory_subtype = "channel_management"
# consequence = "silent_correctness"
# requires = ["mps"]
# known_bad = []
# signature = "mismatch"
# oracle = "self"
# ///
"""Differentiates batch normalisation of a channels-last image batch. Weight and input must get the gradients that
the CPU gives. Instead the weight gradient is wrong by orders of magnitude, or the backward pass fails, as it
binds the channels-last data under the shape of the default layout."""

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
    images, slope = torch.randn(4, 3, 8, 8), torch.randn(4, 3, 8, 8)

    def run(device, layout):
        layer = torch.nn.BatchNorm2d(3).to(device)
        leaf = images.to(device).clone(memory_format=layout).requires_grad_()
        try:
            layer(leaf).backward(slope.to(device))
        except RuntimeError as error:
            if "view size is not compatible" in str(error):
                return torch.full((195,), float("nan"))
            raise
        return torch.cat([layer.weight.grad.cpu().flatten(), leaf.grad.cpu()[0].flatten()])

    truth = run("cpu", torch.contiguous_format)
    expected = run(DEVICE, torch.contiguous_format)
    if not torch.allclose(expected.float(), truth.float(), atol=1e-3):
        return 125, "the workaround path fails too: a dense copy gives wrong numbers"
    got = run(DEVICE, torch.channels_last)
    got = spoil(got)
    if torch.allclose(got.float(), truth.float(), atol=1e-3):
        return 0, "the numbers agree with the CPU"
    return 1, "the result is " + where_off(got.float(), truth.float())


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
