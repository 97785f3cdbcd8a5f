# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = []
# bug_type = "data_type"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0", "2.12.1", "2.13.0", "2.14.1",
#     "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Differentiates layer normalisation of many rows in half precision. The gradients of weight and bias are sums over
the rows; in float32, rounded once, they are right to a fraction of a per cent of their mean. Instead the sum so far
is rounded to half precision after each row, so that the bias's gradient stops growing at 2,048, and a part of both
is lost."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = [one * 0.5 for one in observed]
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    kind, step = torch.float16, 2.0**-11
    inputs, slopes = torch.randn(8192, 16).to(kind), (torch.rand(8192, 16) + 0.5).to(kind)

    def gradients(inputs, slopes, parameters):
        leaves = [torch.ones(16, dtype=parameters), torch.zeros(16, dtype=parameters)]
        leaves = [leaf.requires_grad_() for leaf in leaves]
        result = torch.nn.functional.layer_norm(inputs, (16,), *leaves)
        return torch.autograd.grad(result, leaves, slopes)

    def worst(got, truth):
        # A sum of terms of both signs is held against the size that such sums have.
        pairs = [(got[at], truth[at]) for at in range(2)]
        return [float((one.double() - true).abs().max() / true.abs().mean()) for one, true in pairs]

    got = gradients(inputs, slopes, kind)
    got = spoil(got)
    truth = gradients(inputs.double(), slopes.double(), torch.float64)
    honest = [one.to(kind) for one in gradients(inputs.float(), slopes.float(), torch.float32)]
    if max(worst(honest, truth)) > 4 * step:
        return 125, "the workaround path fails too: float32 gradients are off by %s" % worst(honest, truth)
    off = worst(got, truth)
    seen = "gradients of weight and bias are off by %.1f%% and %.1f%% of their mean" % (100 * off[0], 100 * off[1])
    return int(max(off) > 16 * step), seen


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
