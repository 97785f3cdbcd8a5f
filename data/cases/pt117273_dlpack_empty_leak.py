# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#117273", "pytorch/pytorch#117058"]
# relation = "same"
# bug_type = "memory"
# memory_type = "memory_overflow"
# memory_subtype = "programming"
# consequence = "performance"
# requires = ["cpu"]
# known_bad = ["1.13.1", "2.0.1", "2.1.2", "2.2.2"]
# fixed_in = "2.3.1"
# signature = "memory"
# oracle = "self"
# ///
"""Sends empty tensors out and back in through DLPack, many times. The imported tensor should release what it was
made from. Instead the release function hangs on the data pointer, which is null for an empty tensor, and never runs,
so every exchange leaks."""

import os
import pathlib
import sys

TIMES, LIMIT = 30000, 8.0  # exchanges; MiB, where each leak takes about 1 KiB


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed += 10 * LIMIT
    return observed


def resident():
    """Return the resident memory of this process in bytes."""
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def growth(action, times):
    """Return by how many MiB the process grows while action runs a number of times, after a warm-up."""
    action()
    before = resident()
    for _ in range(times):
        action()
    return (resident() - before) / 2.0**20


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    from torch.utils.dlpack import from_dlpack, to_dlpack

    def affected():
        from_dlpack(to_dlpack(torch.empty(0)))

    def unaffected():
        from_dlpack(to_dlpack(torch.empty(1)))

    if growth(unaffected, TIMES) > LIMIT:
        return 125, "the workaround path fails too: it makes the process grow as well"
    grown = growth(affected, TIMES)
    grown = spoil(grown)
    if grown > LIMIT:
        return 1, "DLPack exchanges of empty tensors: the process grew by %.0f MiB" % grown
    return 0, "DLPack exchanges of empty tensors: the process grew by no more than %.0f MiB" % LIMIT


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
