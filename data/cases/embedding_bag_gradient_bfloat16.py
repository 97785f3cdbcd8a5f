# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = []
# bug_type = "data_type"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0",
#     "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Differentiates sums over bags of bfloat16 embeddings for tokens of which most are the same word. The forward pass of
that support was made to add in float32. A sum that is carried in higher precision, or in float32 and rounded once,
is right to half a per cent. Instead every addition is rounded to the type of the summands, so that the row of a
frequent token stops growing."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed * 0.5
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    def worst(got, truth):
        return float(((got.double() - truth).abs() / truth.abs().clamp(min=1)).max())

    torch.manual_seed(0)
    # Three of four tokens are the same word, as in running text. Its row collects thousands of summands.
    tokens = torch.where(torch.rand(8192) < 0.75, torch.zeros(8192), torch.rand(8192) * 7 + 1).long()
    slopes = torch.rand(8192, 4) * 0.5 + 0.25
    found = []
    for kind, step in ((torch.bfloat16, 2.0**-8),):
        summands = slopes.to(kind)
        truth = torch.zeros(8, 4, dtype=torch.float64).index_add(0, tokens, summands.double())
        honest = torch.zeros(8, 4).index_add(0, tokens, summands.float()).to(kind)
        if worst(honest, truth) > step:
            return 125, "the workaround path fails too: a float32 sum is off by %.3g" % worst(honest, truth)
        weight = torch.zeros(8, 4, dtype=kind, requires_grad=True)
        bags = torch.nn.functional.embedding_bag(tokens[:, None], weight, mode="sum")
        got = torch.autograd.grad(bags, weight, summands)[0]
        got = spoil(got)
        if worst(got, truth) > 8 * step:
            found.append("%s: off by %.0f%%" % (kind, 100 * worst(got, truth)))
    if not found:
        return 0, "the sums are as good as float32 sums rounded once"
    return 1, "; ".join(found)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
