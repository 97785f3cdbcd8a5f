# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#188344", "pytorch/pytorch#188345", "pytorch/pytorch#107201"]
# relation."pytorch/pytorch#188344" = "same"
# relation."pytorch/pytorch#188345" = "same"
# relation."pytorch/pytorch#107201" = "sibling"
# bug_type = "memory"
# memory_type = "memory_format"
# memory_subtype = "channel_management"
# consequence = "silent_correctness"
# requires = ["cuda"]
# known_bad = []
# signature = "mismatch"
# oracle = "self"
# ///
"""Differentiates average pooling with padding of channels-last images on the GPU. The gradient of the default layout
is due. Instead the kernel for channels-last forgets the padding when it turns a position into coordinates."""

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
    torch.manual_seed(0)
    images = torch.randn(2, 4, 6, 6)

    def gradient(device, layout):
        leaf = images.to(device).clone(memory_format=layout).requires_grad_()
        out = torch.nn.functional.avg_pool2d(leaf, 3, 2, 1)
        out.backward(torch.arange(1.0, out.numel() + 1).reshape(out.shape).to(device).contiguous(memory_format=layout))
        return leaf.grad.cpu()

    truth = gradient("cpu", torch.contiguous_format)
    if not torch.allclose(gradient(DEVICE, torch.contiguous_format), truth, atol=1e-3):
        return 125, "the workaround path fails too: the default layout gives a wrong gradient"
    got = gradient(DEVICE, torch.channels_last)
    got = spoil(got)
    if torch.allclose(got, truth, atol=1e-3):
        return 0, "channels-last images give the right gradient"
    return 1, "channels-last images: " + where_off(got, truth)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
