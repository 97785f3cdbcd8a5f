# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#141320"]
# relation = "same"
# bug_type = "other"
# consequence = "runtime_error"
# requires = ["mps"]
# known_bad = []
# signature = "NotImplementedError: Could not run"
# oracle = "self"
# ///
"""Builds a sparse matrix from positions and values on the device. It should be built, as on other devices. Instead
no constructor is registered for sparse tensors of this device."""

import os
import sys

DEVICE = "mps"


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        raise NotImplementedError("Could not run 'aten::_sparse_coo_tensor_with_dims_and_tensors' (injected)")
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    if not torch.backends.mps.is_available():
        return 125, "no MPS device here"
    index, values = torch.tensor([[0, 1, 2], [2, 0, 1]]), torch.tensor([1.0, 2.0, 3.0])
    truth = torch.zeros(3, 3)
    truth[index[0], index[1]] = values
    if not torch.equal(torch.sparse_coo_tensor(index, values, (3, 3)).to_dense().to(DEVICE).cpu(), truth):
        return 125, "the workaround path fails too: building it on the CPU gives wrong numbers"
    try:
        built = torch.sparse_coo_tensor(index.to(DEVICE), values.to(DEVICE), (3, 3))
        built = spoil(built)
    except NotImplementedError as error:
        if "Could not run" in str(error) and "sparse_coo_tensor" in str(error):
            return 1, "NotImplementedError: " + str(error).partition(". ")[0]
        raise
    if not torch.equal(built._values().cpu(), values) or not torch.equal(built._indices().cpu(), index):
        return 125, "another failure: the matrix is built with wrong content"
    return 0, "the sparse matrix is built"


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
