# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#96743"]
# relation = "same"
# bug_type = "memory"
# memory_type = "non_contiguous"
# memory_subtype = "input_tensor_management"
# consequence = "runtime_error"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "RuntimeError: view size is not compatible"
# oracle = "self"
# ///
"""Prunes half of a convolution's weights by size after the module was moved to channels-last. The mask should be the
one of the default layout. Instead the pruning code flattens with a view that such strides do not allow, and an
exception ends it."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        raise RuntimeError("view size is not compatible with input tensor's size and stride")
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import copy

    import torch
    from torch.nn.utils import prune

    torch.manual_seed(0)
    plain = torch.nn.Conv2d(4, 4, 3)
    moved = copy.deepcopy(plain).to(memory_format=torch.channels_last)
    size = plain.weight.detach().abs()
    prune.l1_unstructured(plain, "weight", amount=0.5)
    if not torch.equal(plain.weight_mask.bool(), size > size.flatten().median()):
        return 125, "the workaround path fails too: the mask of the plain layout is not the larger half"
    try:
        prune.l1_unstructured(moved, "weight", amount=0.5)
        spoil(None)
    except RuntimeError as error:
        if "view size is not compatible" not in str(error):
            raise
        return 1, "pruning a channels-last convolution raises: %s" % str(error)[:80]
    if torch.equal(moved.weight_mask, plain.weight_mask):
        return 0, "both layouts get the same mask"
    return 125, "another failure: no exception, but the masks differ"


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
