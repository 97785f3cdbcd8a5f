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
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
# ]
# fixed_in = "2.11.0"
# signature = "memory"
# oracle = "self"
# ///
"""Exports tensors through DLPack whose type DLPack cannot name, so that the export raises: an eight-bit float, as in
the report, and a quantised byte, which raises in every release. The tensor should be free afterwards. Instead the
structure made before the check keeps it alive for ever."""

import gc
import os
import sys
import weakref

KEPT = []


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        KEPT.append(observed)
    return observed


def is_refusal(error):
    """True where error is the refusal that is due here, by its type and its words."""
    return isinstance(error, (RuntimeError, BufferError, ValueError)) and "not supported by dlpack" in str(error)


def survives_export(tensors):
    """Export the only tensor of a list through DLPack and drop it; return (the export raised, it is still alive)."""
    tensor = tensors.pop()
    watch = weakref.ref(tensor)
    raised = False
    try:
        tensor.__dlpack__()
    except (RuntimeError, BufferError, ValueError) as error:
        if not is_refusal(error):
            raise
        raised = True
        tensor = spoil(tensor)
    del tensor
    gc.collect()
    return raised, watch() is not None


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    if survives_export([torch.zeros(1024, dtype=torch.uint8)]) != (False, False):
        return 125, "the workaround path fails too: an exported tensor of bytes is not freed either"
    made = [torch._empty_affine_quantized([1024], scale=1.0, zero_point=0, dtype=torch.quint8)]
    seen = {"quint8": survives_export(made)}
    if hasattr(torch, "float8_e4m3fn"):
        seen["float8_e4m3fn"] = survives_export([torch.zeros(1024, dtype=torch.uint8).view(torch.float8_e4m3fn)])
    refused = sorted(name for name, (raised, _) in seen.items() if raised)
    if not refused:
        return 125, "no export raised"
    alive = [name for name in refused if seen[name][1]]
    if alive:
        return 1, "the export of %s raised and the tensor is still alive" % " and ".join(alive)
    return 0, "the export of %s raised and the tensor is freed" % " and ".join(refused)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
