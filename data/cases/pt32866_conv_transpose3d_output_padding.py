# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#32866"]
# relation = "sibling"
# bug_type = "memory"
# memory_type = "indexing"
# memory_subtype = "overflow"
# consequence = "crash"
# requires = ["cuda"]
# known_bad = []
# signature = ["RuntimeError: illegal memory access", "mismatch"]
# oracle = "self"
# ///
"""Runs transposed convolutions of volumes with several output paddings on the GPU, forward and backward, and
differentiates. The numbers of the CPU are due, or a clear refusal. The report shows an illegal memory access in a
video decoder; it gives no stand-alone script, so the shapes here are ours."""

import os
import sys

PLANT = os.environ.get("EMBERS_PLANT") == "1"
DEVICE = "cuda"


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
    volume, weight = torch.randn(2, 6, 3, 7, 5), torch.randn(6, 4, 3, 3, 3)

    def run(device, kind, fused, shape):
        leaf, kernel = (x.to(device, kind).clone().requires_grad_() for x in (volume, weight))
        with torch.backends.cudnn.flags(enabled=fused, deterministic=True, allow_tf32=False):
            out = torch.nn.functional.conv_transpose3d(leaf, kernel, None, *shape)
            out.sum().backward()
        return torch.cat([x.detach().flatten().cpu().double() for x in (out, leaf.grad, kernel.grad)])

    shapes = [
        (stride, padding, extra)
        for stride in (2, 3)
        for padding in (0, 1)
        for extra in ((1, 0, 0), (0, 1, 1), (1, 1, 1))
    ]
    for fused, shape in [(fused, shape) for fused in (True, False) for shape in shapes]:
        truth = run("cpu", torch.float64, fused, shape)
        try:
            if PLANT:
                raise RuntimeError("an illegal memory access was encountered (injected)")
            got = run(DEVICE, torch.float32, fused, shape)
        except RuntimeError as error:
            if "illegal memory access" in str(error):
                return 1, "stride %d, padding %d, output padding %s: illegal memory access" % shape
            raise
        if not torch.allclose(got, truth, atol=1e-2):
            return 1, "stride %d, padding %d, output padding %s: " % shape + where_off(got, truth)
    return 0, "every output padding gives the numbers of the CPU"


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
