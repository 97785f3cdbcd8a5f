# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#188372", "pytorch/pytorch#188375"]
# relation = "same"
# bug_type = "logical"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Normalises slices of one element and differentiates. The normalised value is zero whatever the input, so that the
weight has no influence and its gradient is zero. Instead rounding in the folded formula leaves a gradient of several
units."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = 7.0
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    def gradient(value, kind):
        weight = torch.tensor([2.0], dtype=kind, requires_grad=True)
        leaf = torch.tensor([value], dtype=kind)
        torch.nn.functional.layer_norm(leaf, (1,), weight, torch.tensor([3.0], dtype=kind)).sum().backward()
        return float(weight.grad)

    got = max(abs(gradient(value, torch.float32)) for value in (1e5, 1e6, 3e6))
    got = spoil(got)
    if gradient(0.0, torch.float32) != 0 or gradient(1.0, torch.float64) > 1e-9:
        return 125, "the workaround path fails too: the gradient is not zero for small values"
    if got < 1e-3:
        return 0, "the weight gets no gradient"
    return 1, "the gradient of a weight without influence is %.3g" % got


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
