# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#196702"]
# relation = "same"
# bug_type = "logical"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0",
#     "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Multiplies t + 2 and 3t + 1 into a tensor that holds t + 1, by scatter_reduce with the reduction prod, and
differentiates in forward mode. The derivative of the product is a polynomial, and reverse mode and finite differences
agree with it. Instead it is zero."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed * 0
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    place = torch.tensor([0, 0])

    def product(t):
        return torch.scatter_reduce((t + 1).reshape(1), 0, place, torch.stack([t + 2, 3 * t + 1]), reduce="prod").sum()

    at = torch.tensor(0.01, dtype=torch.float64)
    truth = 9 * 0.01**2 + 20 * 0.01 + 9
    _, got = torch.func.jvp(product, (at,), (torch.ones_like(at),))
    got = spoil(got)
    step = 1e-6
    around = ((product(at + step) - product(at - step)) / (2 * step)).item()
    reverse = torch.func.grad(product)(at).item()
    if abs(around - truth) > 1e-6 or abs(reverse - truth) > 1e-9:
        return 125, "the workaround path fails too: finite differences %g, reverse mode %g" % (around, reverse)
    if abs(got.item() - truth) < 1e-9:
        return 0, "the derivative in forward mode is %g" % got.item()
    return 1, "the derivative in forward mode is %g instead of %g" % (got.item(), truth)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
