# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = []
# bug_type = "data_type"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0", "2.12.1", "2.13.0",
#     "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Multiplies a sparse bfloat16 matrix with a dense one and adds a bias that nearly cancels the products. The result
should be as good as a float32 one, rounded once or twice. Instead the bias is the start of a running sum in
bfloat16, so that every product is rounded."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed + 2
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.manual_seed(0)
    rows, weight = torch.randn(64, 128).bfloat16(), torch.randn(96, 128).bfloat16()
    products = rows.double() @ weight.double().t()
    # The bias nearly cancels the first row of products, so that a rounding before it is added shows.
    bias = (torch.randn(96) * 0.01 - products[0]).bfloat16()
    truth = products + bias.double()

    def error(result):
        return float((result.double() - truth).abs().max())

    once, twice = error(truth.bfloat16()), error(products.bfloat16().double() + bias.double())
    honest = error((rows.float() @ weight.float().t() + bias.float()).bfloat16())
    if honest > 1.5 * once:
        return 125, "the workaround path fails too: a float32 product with bias is off by %.3g" % honest
    start = bias.expand(64, 96).contiguous()
    got = torch.sparse.addmm(start, rows.to_sparse(), weight.t().contiguous())
    got = spoil(got)
    if error(got) <= 3 * max(once, twice):
        return 0, "off by %.3g, one rounding costs %.3g" % (error(got), once)
    return 1, "off by %.3g where one rounding costs %.3g and two cost %.3g" % (error(got), once, twice)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
