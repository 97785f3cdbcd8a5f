# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#196190", "pytorch/pytorch#196288"]
# relation = "same"
# bug_type = "logical"
# consequence = "silent_correctness"
# requires = ["mps"]
# known_bad = []
# signature = "mismatch"
# oracle = "self"
# ///
"""Multiplies two sorted sparse matrices element by element, many times. A result that calls itself coalesced must be
sorted. Instead its order follows the scheduling of the GPU, because each match takes its place from a counter."""

import os
import sys

DEVICE = "mps"


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed += 1
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    if not torch.backends.mps.is_available():
        return 125, "no MPS device here"
    torch.manual_seed(0)
    index = torch.arange(40_000)
    index = torch.stack([index // 200, index % 200])

    def make(device):
        return torch.sparse_coo_tensor(index.to(device), torch.ones(40_000, device=device), (200, 200)).coalesce()

    def disordered(device):
        product = make(device) * make(device)
        if not product.is_coalesced():
            return 0
        places = product._indices().cpu()
        return int((torch.diff(places[0] * 200 + places[1]) <= 0).sum())

    if disordered("cpu"):
        return 125, "the workaround path fails too: the CPU returns an unsorted product"
    worst = max(disordered(DEVICE) for _ in range(20))
    worst = spoil(worst)
    if worst == 0:
        return 0, "twenty products are sorted"
    return 1, "a product that is marked as coalesced has %d places out of order" % worst


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
