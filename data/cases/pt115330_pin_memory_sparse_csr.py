# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#115330", "pytorch/pytorch#129645"]
# relation."pytorch/pytorch#115330" = "sibling"
# relation."pytorch/pytorch#129645" = "same"
# bug_type = "memory"
# memory_type = "pin_memory"
# memory_subtype = "input_tensor_management"
# consequence = "runtime_error"
# requires = ["cpu"]
# known_bad = ["1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1"]
# fixed_in = "2.5.1"
# signature = ["NotImplementedError: Could not run", "NotImplementedError: Cannot access storage"]
# oracle = "self"
# ///
"""Asks for a copy of a compressed sparse matrix in page-locked memory, as a data loader does. It should be made, or
refused for the reason for which a dense tensor is refused here. Instead no routine exists for the class, and the
pinning thread of the loader ends with NotImplementedError."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = "Cannot access storage of SparseCsrTensorImpl (injected)"
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

    dense = outcome(torch.eye(3))
    sparse = outcome(torch.eye(3).to_sparse_csr())
    sparse = spoil(sparse)
    missing = ("Cannot access storage", "Could not run")
    if any(text in dense for text in (*missing, "not pinned")):
        return 125, "the workaround path fails too: a dense tensor is not pinned: " + dense
    if any(text in sparse for text in missing):
        return 1, "NotImplementedError: " + sparse
    if not sparse:
        return 0, "the sparse matrix was pinned"
    if not dense:
        return 125, "another failure: dense tensors can be pinned, sparse ones not: " + sparse
    if not any(words in sparse for words in ("CUDA", "accelerator")):
        return 125, "another failure in place of the missing accelerator: " + sparse
    return 0, "sparse and dense tensors reach the pinning routine, which needs an accelerator: " + sparse


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
