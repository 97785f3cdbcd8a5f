# /// script
# dependencies = ["torch"]
# [tool.embers]
# kind = "closing"
# issues = ["pytorch/pytorch#32705"]
# relation = "same"
# bug_type = "memory"
# memory_type = "non_contiguous"
# memory_subtype = "input_tensor_management"
# consequence = "runtime_error"
# requires = ["cpu"]
# known_bad = []
# signature = "RuntimeError"
# oracle = "self"
# ///
"""Pads a matrix that came from a sparse tensor, views and permutes it, folds it, and runs backwards through all of it.
Each step has a gradient, so the values of the sparse tensor should get theirs. Instead the gradient of the fold arrives
permuted, and the padding's backward refuses to view it."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        raise RuntimeError("view size is not compatible with input tensor's size and stride")
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    functional = torch.nn.functional

    def gradient(dense):
        values = torch.zeros(3, 8, requires_grad=True)
        indices = torch.zeros(2, 3, dtype=torch.long)
        matrix = torch.sparse_coo_tensor(indices, values, (4, 4, 8)).to_dense()
        padded = functional.pad(matrix, (0, 0, 1, 1, 1, 1))
        columns = padded.view(-1, 8).permute(1, 0).unsqueeze(0)
        columns = columns.contiguous() if dense else columns
        functional.fold(columns, output_size=(5, 5), kernel_size=(2, 2), padding=(1, 1)).sum().backward()
        return values.grad

    expected = [[1.0] * 8] * 3
    if gradient(dense=True).tolist() != expected:
        return 125, "the workaround path fails too: dense columns give %s" % gradient(dense=True).tolist()
    try:
        got = gradient(dense=False)
        got = spoil(got)
    except RuntimeError as error:
        if "view size is not compatible" not in str(error):
            raise
        return 1, "permuted columns have no gradient: %s" % str(error)[:100]
    if got.tolist() == expected:
        return 0, "the values get their gradient"
    return 125, "another failure: no exception, but the gradient is %s" % got.tolist()


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
