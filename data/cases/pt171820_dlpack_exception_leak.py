# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#171820"]
# bug_type = "memory"
# memory_type = "memory_overflow"
# memory_subtype = "programming"
# consequence = "performance"
# requires = ["cpu"]
# known_bad = []
# signature = "memory"
# oracle = "self"
# ///
"""Exports a tensor of an eight-bit float type through DLPack, where releases that do not know the type raise. The
tensor should be free afterwards. Instead the structure made before the check keeps it alive for ever."""

import os
import sys

PLANT = os.environ.get("EMBERS_PLANT") == "1"
TIMES, LIMIT = 10, 16.0  # exports of 4 MiB; MiB


def resident():
    """Return the resident memory of this process in bytes."""
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


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
    if not hasattr(torch, "float8_e4m3fn"):
        return 125, "this release has no eight-bit floats"
    plain = torch.zeros(4 << 20, dtype=torch.uint8)

    def affected():
        try:
            plain.clone().view(torch.float8_e4m3fn).__dlpack__()
        except (RuntimeError, BufferError, ValueError):
            pass

    def unaffected():
        plain.clone().__dlpack__()

    if growth(unaffected, TIMES) > LIMIT:
        return 125, "the workaround path fails too: it makes the process grow as well"
    grown = growth(affected, TIMES)
    if PLANT:
        grown += 10 * LIMIT
    if grown > LIMIT:
        return 1, "exports that fail: the process grew by %.0f MiB" % grown
    return 0, "exports that fail: the process grew by no more than %.0f MiB" % LIMIT


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
