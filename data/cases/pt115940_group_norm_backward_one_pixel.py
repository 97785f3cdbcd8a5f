# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#115940"]
# relation = "same"
# bug_type = "memory"
# memory_type = "memory_format"
# memory_subtype = "stride_calculation_manually"
# consequence = "runtime_error"
# requires = ["cpu"]
# known_bad = ["2.2.2"]
# fixed_in = "2.3.1"
# signature = "RuntimeError: Expected memory formats of X and dY are same"
# oracle = "self"
# ///
"""Normalises groups of an image of one column that stems from a permutation, and sends back a channels-last gradient.
Sizes of one make the memory format ambiguous, but forward accepts the image and backward should too. Instead
backward demands that both formats agree and raises."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        raise RuntimeError("Expected memory formats of X and dY are same.")
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.manual_seed(0)
    values = torch.randn(1, 64, 12, 1)
    module = torch.nn.GroupNorm(3, 12, affine=False)
    upstream = torch.randn(64, 12, 1, 1)

    def gradient(image, upstream):
        image = image.detach().requires_grad_()
        return torch.autograd.grad(module(image), image, upstream)[0]

    expected = gradient(values.permute(1, 2, 0, 3).contiguous(), upstream)
    grouped = values.permute(1, 2, 0, 3).reshape(64, 3, 4).double().requires_grad_()
    mean = grouped.mean(2, keepdim=True)
    truth = (grouped - mean) / (((grouped - mean) ** 2).mean(2, keepdim=True) + 1e-5).sqrt()
    truth = torch.autograd.grad(truth, grouped, upstream.reshape(64, 3, 4).double())[0].reshape(64, 12, 1, 1)
    if not torch.allclose(expected.double(), truth, atol=1e-3):
        return 125, "the workaround path fails too: the gradient of the dense image is wrong"
    try:
        got = gradient(values.permute(1, 2, 0, 3), upstream.to(memory_format=torch.channels_last))
        got = spoil(got)
    except RuntimeError as error:
        if "memory formats" not in str(error):
            raise
        return 1, "backward raises: %s" % str(error).splitlines()[0]
    if torch.allclose(got, expected, atol=1e-4):
        return 0, "backward accepts the ambiguous layout"
    return 125, "another failure: no exception, but the gradient is wrong"


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
