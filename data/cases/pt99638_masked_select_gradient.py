# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#99638"]
# relation = "same"
# bug_type = "memory"
# memory_type = "non_contiguous"
# memory_subtype = "input_tensor_management"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = ["1.13.1", "2.0.1"]
# fixed_in = "2.1.2"
# signature = "mismatch"
# oracle = "self"
# ///
"""Picks elements of a permuted batch with a mask and differentiates. Each weight must arrive at the element that was
picked. Instead the weights land on other elements, because the backward pass fills a permuted buffer in the order
of memory."""

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
    frames = torch.randn(2, 3, 4).permute(0, 2, 1).clone(memory_format=torch.preserve_format)
    mask = torch.rand(2, 4, 3) > 0.4
    weights = torch.arange(1.0, mask.sum().item() + 1)

    def gradient(x):
        x = x.detach().requires_grad_()
        (x.masked_select(mask) * weights).sum().backward()
        return x.grad

    got = gradient(frames)
    got = spoil(got)
    expected = gradient(frames.contiguous())
    truth = torch.zeros(2, 4, 3)
    truth[mask] = weights
    if not torch.equal(expected, truth):
        return 125, "the workaround path fails too: the gradient of a dense batch is wrong"
    if torch.equal(got, truth):
        return 0, "the gradient of the permuted batch is right"
    return 1, "the gradient of the permuted batch is " + where_off(got, truth)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
