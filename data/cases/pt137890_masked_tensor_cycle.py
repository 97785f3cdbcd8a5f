# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#137890"]
# relation = "same"
# bug_type = "memory"
# memory_type = "memory_overflow"
# memory_subtype = "programming"
# consequence = "performance"
# requires = ["cpu"]
# known_bad = ["1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1"]
# fixed_in = "2.6.0"
# signature = "memory"
# oracle = "self"
# ///
"""Reduces a masked tensor that tracks gradients, differentiates, and drops everything. The tensor should be gone, at
the latest after the garbage collector ran. Instead it and its graph hold each other in a ring of which the collector
sees only a part."""

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


def survives(tensor):
    """True where a tensor outlives its last name although the garbage collector runs."""
    watch = weakref.ref(tensor)
    tensor.sum().backward()
    tensor = spoil(tensor)
    del tensor
    gc.collect()
    return watch() is not None


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import warnings

    import torch
    from torch.masked import masked_tensor

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    plain = [torch.ones(4, requires_grad=True)]
    watch = weakref.ref(plain[0])
    plain.pop().sum().backward()
    gc.collect()
    if watch() is not None:
        return 125, "the workaround path fails too: a plain tensor survives as well"
    if survives(masked_tensor(torch.ones(4), torch.tensor([True, True, False, True]), requires_grad=True)):
        return 1, "a masked tensor is still alive after its last name and a garbage collection"
    return 0, "a masked tensor is freed"


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
