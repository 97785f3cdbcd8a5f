# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#171820"]
# relation = "sibling"
# bug_type = "memory"
# memory_type = "memory_overflow"
# memory_subtype = "programming"
# consequence = "performance"
# requires = ["cpu"]
# known_bad = ["2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1"]
# fixed_in = "2.10.0"
# signature = "memory"
# oracle = "self"
# ///
"""Exports a tensor of an eight-bit float type through DLPack, where releases that do not know the type raise. The
tensor should be free afterwards. Instead the structure made before the check keeps it alive for ever."""

import gc
import os
import sys
import weakref

PLANT = os.environ.get("EMBERS_PLANT") == "1"
KEPT = []


def survives_export(torch, dtype):
    """Export a fresh tensor of a type through DLPack; return (raised, still alive after its last name is gone)."""
    tensor = torch.zeros(1024, dtype=torch.uint8).view(dtype)
    watch = weakref.ref(tensor)
    if PLANT and dtype is not torch.uint8:
        KEPT.append(tensor)
    raised = False
    try:
        tensor.__dlpack__()
    except (RuntimeError, BufferError, ValueError):
        raised = True
    del tensor
    gc.collect()
    return raised, watch() is not None


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    if not hasattr(torch, "float8_e4m3fn"):
        return 125, "this release has no eight-bit floats"
    if survives_export(torch, torch.uint8) != (False, False):
        return 125, "the workaround path fails too: an exported tensor of bytes is not freed either"
    raised, alive = survives_export(torch, torch.float8_e4m3fn)
    how = "raised" if raised else "worked"
    if alive:
        return 1, "the export %s and the tensor is still alive" % how
    return 0, "the export %s and the tensor is freed" % how


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
