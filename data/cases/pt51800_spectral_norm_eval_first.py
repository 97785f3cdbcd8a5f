# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#51800"]
# relation = "same"
# bug_type = "initialization"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Puts spectral normalisation on a linear layer and evaluates before any training step. The largest singular value of
the weight should be near one. Instead the estimate still rests on a random vector that was never improved, and the
weight is far too large."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed * 10
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.manual_seed(0)
    module = torch.nn.utils.spectral_norm(torch.nn.Linear(4, 4)).eval()
    module(torch.zeros(1, 4))
    got = float(torch.linalg.svdvals(module.weight.detach())[0])
    got = spoil(got)
    torch.manual_seed(0)
    other = torch.nn.utils.parametrizations.spectral_norm(torch.nn.Linear(4, 4)).eval()
    expected = float(torch.linalg.svdvals(other.weight.detach())[0])
    if abs(expected - 1) > 0.1:
        return 125, "the workaround path fails too: the parametrization leaves a norm of %.3g" % expected
    if abs(got - 1) <= 0.1:
        return 0, "the spectral norm is %.3g" % got
    return 1, "evaluated first, the weight has a spectral norm of %.3g" % got


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
