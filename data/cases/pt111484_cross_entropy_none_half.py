# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#111484", "pytorch/pytorch#112096"]
# relation = "same"
# bug_type = "memory"
# memory_type = "indexing"
# memory_subtype = "overflow"
# consequence = "silent_correctness"
# requires = ["cuda"]
# known_bad = []
# signature = "mismatch"
# oracle = "self"
# timeout = 120
# ///
"""Takes the cross entropy of equal half-precision logits without reduction on the GPU, with several billion numbers
permuted so that classes come second. All losses must be equal. Instead those past a certain point come back as
zero and change between calls, as the kernels count in 32 bits."""

import os
import sys

DEVICE = "cuda"


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed * 0
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
    if free < 45:
        return 125, "needs 45 GiB of memory on the device, %.0f GiB are free" % free
    logits = torch.ones(70, 2047, 50_000, dtype=torch.float16, device=DEVICE)
    labels = torch.zeros(70, 2047, dtype=torch.long, device=DEVICE)
    truth = torch.log(torch.tensor(50_000.0)).expand(70, 2047)
    entropy = torch.nn.functional.cross_entropy
    parts = torch.cat(
        [entropy(logits[i : i + 1].permute(0, 2, 1), labels[i : i + 1], reduction="none") for i in (0, 69)]
    )
    if not torch.allclose(parts.float().cpu(), truth[:2], atol=0.05):
        return 125, "the workaround path fails too: the losses of single items are wrong"
    for _ in range(2):
        got = entropy(logits.permute(0, 2, 1), labels, reduction="none").float().cpu()
        got = spoil(got)
        if not torch.allclose(got, truth, atol=0.05):
            return 1, "%d of %d losses are wrong: %s" % (
                int(((got - truth).abs() > 0.05).sum()),
                truth.numel(),
                where_off(got, truth),
            )
    return 0, "all losses of %d logits are equal" % logits.numel()


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
