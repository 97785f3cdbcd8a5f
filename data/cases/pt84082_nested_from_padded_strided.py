# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#84082", "pytorch/pytorch#84217"]
# relation = "same"
# bug_type = "memory"
# memory_type = "non_contiguous"
# memory_subtype = "input_tensor_management"
# consequence = "silent_correctness"
# requires = ["cuda"]
# known_bad = []
# signature = "mismatch"
# oracle = "self"
# ///
"""Packs a padded batch that lies transposed in memory into a nested tensor on the GPU, in single and in half
precision. The numbers of the batch must arrive. Instead the quick kernel, which serves these precisions only,
reads the batch as if it were dense."""

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
    if not hasattr(torch, "_nested_from_padded"):
        return 125, "this release has no packing of padded batches"
    padded = torch.arange(2.0 * 4 * 8).reshape(2, 4, 8)
    sizes = torch.tensor([[3, 8], [4, 8]])
    truth = torch.cat([padded[0, :3].flatten(), padded[1].flatten()])

    def run(dtype, strided):
        batch = padded.to(DEVICE, dtype)
        batch = batch.mT.contiguous().mT if strided else batch
        return torch.cat([part.flatten() for part in torch._nested_from_padded(batch, sizes).unbind()]).float().cpu()

    for dtype in (torch.float64, torch.float32, torch.float16):
        if not torch.equal(run(dtype, strided=False), truth):
            return 125, "the workaround path fails too: a dense batch is packed wrong"
        got = run(dtype, strided=True)
        got = spoil(got)
        if not torch.equal(got, truth):
            return 1, "%s, transposed batch: %s" % (dtype, where_off(got, truth))
    return 0, "transposed batches are packed right in three precisions"


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
