# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = []
# bug_type = "data_type"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = ["1.13.1", "2.0.1"]
# fixed_in = "2.1.2"
# signature = "mismatch"
# oracle = "self"
# ///
"""Adds rows of low precision at repeated indices, by index_add on a matrix, whose kernel is that of scatter_add where
it can be. A sum that is carried in higher precision, or in float32 and rounded once, is right to half a per cent.
Instead every addition is rounded to the type of the summands, so that the row of a frequent token stops growing."""

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
    for kind, step in ((torch.bfloat16, 2.0**-8), (torch.float16, 2.0**-11)):
        summands = slopes.to(kind)
        truth = torch.zeros(8, 4, dtype=torch.float64).index_add(0, tokens, summands.double())
        honest = torch.zeros(8, 4).index_add(0, tokens, summands.float()).to(kind)
        if worst(honest, truth) > step:
            return 125, "the workaround path fails too: a float32 sum is off by %.3g" % worst(honest, truth)
        got = torch.zeros(8, 4, dtype=kind).index_add(0, tokens, summands)
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
