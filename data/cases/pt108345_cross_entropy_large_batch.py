# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#108345", "pytorch/pytorch#112096"]
# relation."pytorch/pytorch#108345" = "sibling"
# relation."pytorch/pytorch#112096" = "same"
# bug_type = "memory"
# memory_type = "indexing"
# memory_subtype = "overflow"
# consequence = "crash"
# requires = ["cuda"]
# known_bad = []
# signature = ["RuntimeError: device-side assert", "RuntimeError: illegal memory access", "mismatch"]
# oracle = "self"
# timeout = 120
# ///
"""Takes the cross entropy of a batch of more than 2**31 logits on the GPU, classes second. The mean of the losses of
single items is due. Instead the kernel computes a negative position in 32 bits and its assertion ends the CUDA
context."""

import os
import sys

DEVICE = "cuda"


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        raise RuntimeError("device-side assert triggered (injected)")
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
    free = torch.cuda.mem_get_info()[0] / 2**30
    if free < 16:
        return 125, "needs 16 GiB of memory on the device, %.0f GiB are free" % free
    logits = torch.zeros(190, 250_002, 50, dtype=torch.float16, device=DEVICE)
    labels = torch.arange(190 * 50, device=DEVICE).reshape(190, 50) % 250_002
    truth = torch.log(torch.tensor(250_002.0))
    one = torch.nn.functional.cross_entropy(logits[-1:].float(), labels[-1:]).cpu()
    if not torch.allclose(one, truth, atol=1e-3):
        return 125, "the workaround path fails too: the loss of a single item is wrong"
    try:
        got = torch.nn.functional.cross_entropy(logits, labels, reduction="none").float().cpu()
        got = spoil(got)
    except RuntimeError as error:
        if "device-side assert" in str(error) or "illegal memory access" in str(error):
            return 1, "RuntimeError: " + str(error).partition("\n")[0]
        raise
    if torch.allclose(got, truth.expand(190, 50), atol=0.05):
        return 0, "all losses of %d logits are right" % logits.numel()
    return 1, "the losses are " + where_off(got, truth.expand(190, 50))


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
