# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#132596"]
# relation = "sibling"
# bug_type = "memory"
# memory_type = "memory_overflow"
# memory_subtype = "programming"
# consequence = "performance"
# requires = ["mps"]
# known_bad = []
# signature = "memory"
# oracle = "self"
# ///
"""Runs one linear layer on inputs of ever new sizes and frees each result. The memory that the driver holds should
settle, as it does for inputs of one size. Instead it grows with every new size."""

import os
import sys

DEVICE = "mps"


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed += 1000
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    if not torch.backends.mps.is_available():
        return 125, "no MPS device here"
    if not hasattr(torch, "mps") or not hasattr(torch.mps, "driver_allocated_memory"):
        return 125, "this release does not tell what the driver holds"
    layer = torch.nn.Linear(256, 256).to(DEVICE)

    def growth(sizes):
        with torch.no_grad():
            for _ in range(20):
                layer(torch.ones(1024, 256, device=DEVICE))
            torch.mps.synchronize()
            before = torch.mps.driver_allocated_memory()
            for size in sizes:
                layer(torch.ones(size, 256, device=DEVICE))
            torch.mps.synchronize()
        return (torch.mps.driver_allocated_memory() - before) / 2**20

    # No single input takes more than a mebibyte, so a cache of honest size stays far below 200 MiB.
    if growth([1024] * 400) > 50:
        return 125, "the workaround path fails too: memory grows with inputs of one size"
    grown = growth(range(200, 1000, 2))
    grown = spoil(grown)
    if grown <= 200:
        return 0, "400 sizes grow the memory of the driver by %.0f MiB" % grown
    return 1, "400 sizes grow the memory of the driver by %.0f MiB" % grown


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
