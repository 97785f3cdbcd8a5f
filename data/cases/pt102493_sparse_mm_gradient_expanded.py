# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#102493", "pytorch/pytorch#106127"]
# relation = "same"
# bug_type = "memory"
# memory_type = "non_contiguous"
# memory_subtype = "input_tensor_management"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = ["2.0.1"]
# fixed_in = "2.1.2"
# signature = "mismatch"
# oracle = "self"
# ///
"""Multiplies two sparse matrices and differentiates the sum of the stored values. The sum sends back one number that
is expanded over all values, so every stored position must receive the same share. Instead all but the first
position receive something else, as the kernel steps through memory that is not there."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed + 1
    return observed


def where_off(got, expected):
    """Say by how much got differs from expected, and where most."""
    off = (got.detach().cpu().double() - expected.detach().cpu().double()).abs().nan_to_num(float("inf"))
    at, place = int(off.argmax()), []
    for size in reversed(off.shape):
        place.insert(0, at % size)
        at //= size
    return "off by up to %g at %s" % (off.max(), tuple(place))


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    def gradient(dense_slope):
        index = torch.arange(4).repeat(2, 1)
        left = torch.sparse_coo_tensor(index, torch.arange(1.0, 5.0), (4, 4)).requires_grad_()
        right = torch.sparse_coo_tensor(index, torch.full((4,), 3.0), (4, 4))
        values = torch.sparse.mm(left, right).coalesce().values()
        values.backward(torch.ones(4) if dense_slope else torch.ones(1).expand(4))
        return left.grad.to_dense()

    got = gradient(dense_slope=False)
    got = spoil(got)
    expected = gradient(dense_slope=True)
    truth = 3 * torch.eye(4)
    if not torch.equal(expected, truth):
        return 125, "the workaround path fails too: a dense incoming gradient gives wrong numbers"
    if torch.equal(got, truth):
        return 0, "an expanded incoming gradient gives the right numbers"
    return 1, "an expanded incoming gradient: " + where_off(got, truth)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
