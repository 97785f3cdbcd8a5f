# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#153237"]
# relation = "same"
# bug_type = "memory"
# memory_type = "nested_tensor_layout"
# memory_subtype = "storage_format_mismatch"
# consequence = "silent_correctness"
# requires = ["cpu", "torch>=2.2"]
# known_bad = ["2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1"]
# fixed_in = "2.8.0"
# signature = "mismatch"
# oracle = "self"
# ///
"""Transposes a jagged nested tensor and prints it. The printed form states whether the storage is in order, and it
should agree with is_contiguous. Instead it claims order after the transposition."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed.replace("contiguous=False", "contiguous=True")
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    if not hasattr(torch, "jagged"):
        return 125, "this release has no jagged layout"
    nested = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)], layout=torch.jagged)
    if "contiguous=True" not in repr(nested) or not nested.is_contiguous():
        return 125, "the workaround path fails too: the nested tensor is not in order to begin with"
    turned = nested.transpose(1, 2)
    if turned.is_contiguous():
        return 125, "the transposed tensor is said to be in order by is_contiguous too"
    printed = repr(turned)
    printed = spoil(printed)
    if "contiguous=True" in printed:
        return 1, "is_contiguous() is False, the printed form says True"
    return 0, "the printed form agrees with is_contiguous()"


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
