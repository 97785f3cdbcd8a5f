# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#147860"]
# relation = "same"
# bug_type = "data_type"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = ["2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1"]
# fixed_in = "2.8.0"
# signature = "mismatch"
# oracle = "self"
# ///
"""Adds a bias to a bfloat16 matrix times a vector, two rows of ten, by addmv in the default set-up. The result should
be as near as that of the single steps: the product rounded once, the sum rounded once. Instead the first number is
1.65625 where 1.922 is due, fourteen per cent away."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed - 0.25
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    bias = torch.tensor([5.8438, -6.3125]).bfloat16()
    matrix = torch.tensor(
        [
            [4.3125, -6.4375, -3.8125, 4.3125, 8.25, -5.4062, -3.2656, -5.4688, 6.1562, -2.9062],
            [7.0, 0.7617, 5.1875, -4.9375, 4.5625, -6.5938, -0.9023, 6.4375, -2.4219, -3.3906],
        ]
    ).bfloat16()
    vector = torch.tensor([5.6875, -8, 8.0625, 5, -4.7812, 7.4375, -1.4766, 3.2344, 1.9688, -3.3125]).bfloat16()
    product = matrix.double() @ vector.double()
    truth = bias.double() + product

    def wrong(got):
        return (got.double() - truth).abs()

    # Two roundings to eight bits: one of the product, one of the sum.
    allowed = (product.abs() + truth.abs()) / 256
    single = (matrix.float() @ vector.float()).bfloat16() + bias
    if (wrong(single) > allowed).any():
        return 125, "the workaround path fails too: single steps in float32 give %s" % single.tolist()
    got = torch.addmv(bias, matrix, vector)
    got = spoil(got)
    if (wrong(got) <= allowed).all():
        return 0, "addmv gives %s, single steps %s" % (got.tolist(), single.tolist())
    return 1, "addmv gives %s where single steps give %s" % (got.tolist(), single.tolist())


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
