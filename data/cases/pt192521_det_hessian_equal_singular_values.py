# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#192521"]
# relation = "same"
# bug_type = "logical"
# consequence = "nan_inf"
# requires = ["cpu"]
# known_bad = [
#     "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0",
#     "2.12.1", "2.13.0", "2.14.1",
# ]
# fixed_in = "2.15.0"
# signature = "mismatch"
# oracle = "self"
# ///
"""Takes all second derivatives of the determinant at the identity by torch.func. They are ones, minus ones and zeros,
as plain autograd finds. Instead they are NaN: a formula for singular matrices is used, which divides by differences
of singular values."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed * float("nan")
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    point = torch.eye(3, dtype=torch.float64)
    one = point
    # At the identity, by the entries ij and kl: one where i = j and k = l, less one where i = l and j = k.
    truth = torch.einsum("ij,kl->ijkl", one, one) - torch.einsum("il,jk->ijkl", one, one)
    got = torch.func.hessian(torch.linalg.det)(point)
    got = spoil(got)
    eager = torch.autograd.functional.hessian(torch.linalg.det, point)
    if not torch.allclose(eager, truth, atol=1e-9):
        return 125, "the workaround path fails too: plain autograd is off by %s" % (eager - truth).abs().max().item()
    if torch.allclose(got, truth, atol=1e-9):
        return 0, "the second derivatives are right"
    return 1, "%d of 81 second derivatives are NaN, others off by up to %g" % (
        got.isnan().sum().item(),
        (got - truth).abs().nan_to_num().max().item(),
    )


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
