# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#110606"]
# relation = "sibling"
# bug_type = "data_type"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = ["1.13.1", "2.0.1", "2.1.2"]
# fixed_in = "2.2.2"
# signature = "mismatch"
# oracle = "self"
# ///
"""Optimises complex parameters with NAdam. The steps should be those of real and imaginary part as two real numbers, as
in the other optimizers. Instead gradients are squared as complex numbers and the parameters go elsewhere."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed + 1
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.manual_seed(0)
    start = torch.randn(3, dtype=torch.complex128)
    slopes = [torch.randn(3, dtype=torch.complex128) for _ in range(6)]

    def descend(kind, split):
        view = torch.view_as_real if split else torch.Tensor.clone
        leaf = torch.nn.Parameter(view(start).clone())
        optimizer = kind([leaf])
        for slope in slopes:
            leaf.grad = view(slope).clone()
            optimizer.step()
        return leaf.detach() if split else torch.view_as_real(leaf.detach())

    if not torch.allclose(descend(torch.optim.Adam, split=False), descend(torch.optim.Adam, split=True)):
        return 125, "the workaround path fails too: Adam differs between complex and pairs as well"
    got, expected = descend(torch.optim.NAdam, split=False), descend(torch.optim.NAdam, split=True)
    got = spoil(got)
    wrong = float((got - expected).abs().max())
    if wrong < 1e-9:
        return 0, "complex numbers and pairs take the same steps"
    return 1, "after six steps complex parameters are off by %.3g" % wrong


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
