# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#84018", "pytorch/pytorch#68682", "pytorch/pytorch#84724"]
# relation."pytorch/pytorch#84018" = "sibling"
# relation."pytorch/pytorch#68682" = "same"
# relation."pytorch/pytorch#84724" = "same"
# bug_type = "memory"
# memory_type = "indexing"
# memory_subtype = "overflow"
# consequence = "crash"
# requires = ["cuda"]
# known_bad = []
# signature = ["RuntimeError: illegal memory access", "mismatch"]
# oracle = "self"
# ///
"""Averages a half-precision tensor of more than 2**31 elements over windows of two on the GPU. The last image must
be averaged like a single one. Instead the address of an image is computed in 32 bits, wraps, and the kernel reads
out of bounds."""

import os
import sys

DEVICE = "cuda"


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        raise RuntimeError("an illegal memory access was encountered (injected)")
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    if not torch.cuda.is_available():
        return 125, "no CUDA device here"
    free = torch.cuda.mem_get_info()[0] / 2**30
    if free < 8:
        return 125, "needs 8 GiB of memory on the device, %.0f GiB are free" % free
    images = 45_000 * 4
    batch = torch.zeros(images, 1, 110, 110, dtype=torch.float16, device=DEVICE)
    batch[-1] = 2
    alone = torch.nn.functional.avg_pool2d(batch[-1:].clone(), 2)
    if not bool((alone == 2).all()):
        return 125, "the workaround path fails too: a single image is averaged wrong"
    try:
        pooled = torch.nn.functional.avg_pool2d(batch, 2)
        torch.cuda.synchronize()
        last, others = bool((pooled[-1:] == alone).all()), bool((pooled[:-1] == 0).all())
        spoil(None)
    except RuntimeError as error:
        if "illegal memory access" in str(error):
            return 1, "illegal memory access with %d elements" % batch.numel()
        raise
    if last and others:
        return 0, "%d elements are averaged right" % batch.numel()
    return 1, "wrong averages: last image %s, the others %s" % (
        "right" if last else "wrong",
        "right" if others else "wrong",
    )


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
