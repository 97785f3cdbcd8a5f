# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#195075"]
# relation = "sibling"
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
"""Differentiates seven activation functions at 33 elements, all of them NaN. The gradient of an element should not
depend on its place. Instead the elements that are taken in full vectors and the one that is left over at the end
get different gradients."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed[0] = ["0.0", "nan"]
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    functional = torch.nn.functional
    activations = [lambda x: torch.logit(x, eps=0.1), functional.hardtanh, functional.hardshrink]
    activations += [functional.softshrink, functional.elu, functional.celu, functional.hardswish]

    def gradient(function, length, number):
        x = torch.full((length,), number, requires_grad=True)
        function(x).sum().backward()
        return x.grad

    got, alone, finite = [], [], []
    for function in activations:
        got.append([str(one) for one in gradient(function, 33, float("nan"))[[0, 32]].tolist()])
        alone.append(str(gradient(function, 1, float("nan")).item()))
        finite.append(gradient(function, 33, 0.25).unique().numel())
    got = spoil(got)
    if finite != [1] * 7:
        return 125, "the workaround path fails too: equal finite inputs have unequal gradients"
    if all(first == last for first, last in got):
        return 0, "the gradients at NaN are the same at both ends: %s" % got
    return 1, "first and last gradient of 33 NaN %s; of one NaN %s" % (got, alone)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
