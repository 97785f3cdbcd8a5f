# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#118628", "pytorch/pytorch#107084"]
# relation."pytorch/pytorch#118628" = "same"
# relation."pytorch/pytorch#107084" = "sibling"
# bug_type = "logical"
# consequence = "nan_inf"
# requires = ["cpu"]
# known_bad = [
#     "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0",
#     "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Evaluates a transformer layer with a mask of floats that are to be added to the scores. Training and evaluation must
agree without dropout. Instead the fast path of evaluation reads the floats as truth values, so that everything is
masked and the output is not a number."""

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
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    steps, added = torch.randn(3, 4, 8), torch.randn(4, 4)

    def encode(mask, training):
        layer.train(training)
        with torch.no_grad():
            return layer(steps, src_mask=mask)

    hide = torch.ones(4, 4).triu(1).bool()
    if not torch.allclose(encode(hide, training=True), encode(hide, training=False), atol=1e-5):
        return 125, "the workaround path fails too: a boolean mask gives other values in evaluation"
    expected, got = encode(added, training=True), encode(added, training=False)
    got = spoil(got)
    if not bool(expected.isfinite().all()):
        return 125, "the workaround path fails too: training gives values that are not finite"
    if torch.allclose(got, expected, atol=1e-5):
        return 0, "evaluation agrees with training"
    return 1, "with a mask of floats %d of 96 elements differ, the first is %g for %g" % (
        int((~torch.isclose(got, expected, atol=1e-5)).sum()),
        float(got[0, 0, 0]),
        float(expected[0, 0, 0]),
    )


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
