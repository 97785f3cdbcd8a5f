# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#96074"]
# relation = "sibling"
# bug_type = "data_type"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = ["1.13.1", "2.0.1"]
# fixed_in = "2.1.2"
# signature = "mismatch"
# oracle = "self"
# ///
"""Multiplies a bfloat16 matrix with vectors and adds a bias that nearly cancels the products, by addmv without the
vendor's library. The result should be as good as a float32 one, rounded once or twice. Instead the bias is the start
of a running sum in bfloat16, so that every product is rounded."""

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
    with torch.backends.mkldnn.flags(enabled=False):
        got = torch.stack([torch.addmv(bias, weight, row) for row in rows])
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
