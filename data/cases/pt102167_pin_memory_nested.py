# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#102167", "pytorch/pytorch#110404"]
# relation = "same"
# bug_type = "memory"
# memory_type = "pin_memory"
# memory_subtype = "input_tensor_management"
# consequence = "runtime_error"
# requires = ["cpu"]
# known_bad = ["1.13.1", "2.0.1", "2.1.2"]
# fixed_in = "2.2.2"
# signature = "RuntimeError: doesn't support strides"
# oracle = "self"
# ///
"""Asks for a copy of a nested tensor in page-locked memory. It should be made, or refused for the reason for which a
dense tensor is refused here, such as a missing accelerator. Instead the dense routine is reached, which complains
that this class has no strides."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = "NestedTensorImpl doesn't support strides (injected)"
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    def outcome(tensor):
        try:
            pinned = tensor.pin_memory()
        except (RuntimeError, AssertionError) as error:
            return str(error).splitlines()[0]
        return "" if pinned.is_pinned() else "not pinned"

    make = getattr(torch.nested, "nested_tensor", None)
    if make is None:
        return 125, "this release has no constructor for nested tensors"
    dense = outcome(torch.arange(5))
    nested = outcome(make([torch.arange(2), torch.arange(3)]))
    nested = spoil(nested)
    if "support strides" in dense or "not pinned" in dense:
        return 125, "the workaround path fails too: a dense tensor is not pinned: " + dense
    if "support strides" in nested:
        return 1, "RuntimeError: " + nested
    if not nested:
        return 0, "the nested tensor was pinned"
    if not dense:
        return 125, "another failure: dense tensors can be pinned, nested ones not: " + nested
    if not any(words in nested for words in ("CUDA", "accelerator")):
        return 125, "another failure in place of the missing accelerator: " + nested
    return 0, "nested and dense tensors reach the pinning routine, which needs an accelerator: " + nested


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
