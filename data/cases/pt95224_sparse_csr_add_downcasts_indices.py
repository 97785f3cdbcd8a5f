# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#95224"]
# relation = "same"
# bug_type = "data_type"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = ["1.13.1", "2.0.1"]
# fixed_in = "2.1.2"
# signature = "mismatch"
# oracle = "self"
# ///
"""Adds a compressed sparse tensor with 64-bit indices to itself. The indices of the sum should be 64-bit too. Instead
the CPU library's 32-bit indices are returned."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        import torch

        observed = torch.int32
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    crow, columns, values = torch.tensor([0, 1, 2]), torch.tensor([0, 1]), torch.tensor([1.0, 2.0])
    matrix = torch.sparse_csr_tensor(crow, columns, values, size=(2, 2))
    total = matrix + matrix
    got = total.crow_indices().dtype
    got = spoil(got)
    if total.values().tolist() != [2.0, 4.0] or total.col_indices().tolist() != [0, 1]:
        return 125, "the workaround path fails too: the sum has other elements"
    if total.to_dense().to_sparse_csr().crow_indices().dtype != torch.int64:
        return 125, "the workaround path fails too: a conversion from dense has other indices as well"
    if got == torch.int64:
        return 0, "the indices of the sum are 64-bit"
    return 1, "indices of type int64 become %s in the sum" % got


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
