# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#107199", "pytorch/pytorch#107270"]
# relation = "same"
# bug_type = "memory"
# memory_type = "memory_format"
# memory_subtype = "stride_calculation_manually"
# consequence = "silent_correctness"
# requires = ["cuda"]
# known_bad = []
# signature = "mismatch"
# oracle = "self"
# ///
"""Differentiates batch normalisation of channels-last volumes without weight and bias on the GPU. The gradient of
the input should keep that layout, as on the CPU. Instead it comes back in the default layout, with the right
numbers."""

import os
import sys

DEVICE = "cuda"


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = False
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    if not torch.cuda.is_available():
        return 125, "no CUDA device here"
    torch.manual_seed(0)
    layout = torch.channels_last_3d
    volumes, slope = torch.randn(2, 3, 4, 4, 4), torch.randn(2, 3, 4, 4, 4)

    def run(device, form):
        layer = torch.nn.BatchNorm3d(3, 0.001, 0.7, affine=False).to(device)
        leaf = volumes.to(device).clone(memory_format=form).requires_grad_()
        layer(leaf).backward(slope.to(device).contiguous(memory_format=form))
        return leaf.grad

    truth = run("cpu", torch.contiguous_format)
    if not torch.allclose(run(DEVICE, torch.contiguous_format).cpu(), truth, atol=1e-4):
        return 125, "the workaround path fails too: the default layout gives a wrong gradient"
    got = run(DEVICE, layout)
    if not torch.allclose(got.cpu(), truth, atol=1e-4):
        return 125, "another failure: the gradient of channels-last volumes is wrong"
    kept = got.is_contiguous(memory_format=layout)
    kept = spoil(kept)
    if kept:
        return 0, "the gradient keeps the channels-last layout"
    return 1, "the gradient has strides %s" % (got.stride(),)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
