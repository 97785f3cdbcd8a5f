# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#107083"]
# relation = "same"
# bug_type = "logical"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = ["1.13.1", "2.0.1"]
# fixed_in = "2.1.2"
# signature = "mismatch"
# oracle = "self"
# ///
"""Asks a compressed sparse tensor that requires gradients for its indices. Integers have no gradient. Instead the index
tensors claim to require one."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = (True, True)
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    matrix = torch.eye(2).to_sparse_csr().requires_grad_()
    got = (matrix.crow_indices().requires_grad, matrix.col_indices().requires_grad)
    got = spoil(got)
    plain = torch.eye(2).to_sparse_csr()
    if plain.crow_indices().requires_grad or plain.crow_indices().tolist() != [0, 1, 2]:
        return 125, "the workaround path fails too: the indices of a tensor without gradients are wrong"
    if got == (False, False):
        return 0, "the indices require no gradient"
    return 1, "crow_indices requires a gradient: %s, col_indices: %s" % got


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
