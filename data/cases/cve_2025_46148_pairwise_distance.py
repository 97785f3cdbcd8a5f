# /// script
# dependencies = ["torch"]
# [tool.embers]
# kind = "advisory"
# issues = ["pytorch/pytorch#151198"]
# relation = "sibling"
# bug_type = "data_type"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = []
# signature = "mismatch"
# oracle = "self"
# ///
"""Takes the distance of two long rows in single precision, eagerly. It should agree with double precision up to honest
rounding, and so do the terms that are added by hand."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed * 1.001
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.manual_seed(0)
    left, right = torch.randn(2, 324), torch.randn(2, 324)
    truth = ((left.double() - right.double() + 1e-6) ** 2).sum(1).sqrt()
    got = torch.nn.PairwiseDistance(p=2)(left, right).double()
    got = spoil(got)
    by_hand = ((left - right + 1e-6) ** 2).sum(1).sqrt().double()
    # 324 terms, each rounded four times to 24 bits: a worst case far above what rounding does, far below a wrong value.
    allowed = truth * (4 * 324 * 2.0**-24)
    if ((by_hand - truth).abs() > allowed).any():
        return 125, "the workaround path fails too: by hand %s instead of %s" % (by_hand.tolist(), truth.tolist())
    worst = ((got - truth).abs() / truth).max().item()
    if ((got - truth).abs() <= allowed).all():
        return 0, "relative error %.1e, within rounding" % worst
    return 1, "relative error %.1e, beyond rounding" % worst


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
