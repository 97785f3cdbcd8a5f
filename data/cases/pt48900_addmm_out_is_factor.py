# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#48900"]
# relation = "same"
# bug_type = "memory"
# memory_type = "non_contiguous"
# memory_subtype = "input_tensor_management"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Multiplies a matrix of ones by the identity, adds a bias of zeros, and lets addmm write the result into the matrix
of ones. Ones are due, or a refusal as elementwise functions give it. Instead the bias is copied over the factor
before the product is formed, and all is zero."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        import torch

        observed = torch.zeros(5, 5)
    return observed


def is_refusal(error):
    """True where error is the refusal that is due here, by its type and its words."""
    return isinstance(error, RuntimeError) and any(
        words in str(error) for words in ("single memory location", "overlap")
    )


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    ones, identity, bias = torch.ones(5, 5), torch.eye(5), torch.zeros(5, 5)
    expected = torch.addmm(bias, ones, identity)
    if not torch.equal(expected, ones):
        return 125, "the workaround path fails too: a fresh output is wrong"
    try:
        target = ones.clone()
        got = torch.addmm(bias, target, identity, out=target).clone()
    except RuntimeError as error:
        if not is_refusal(error):
            raise
        got = error
    got = spoil(got)
    if isinstance(got, Exception):
        return 0, "refused: %s" % str(got)[:80]
    wrong = float((got - expected).abs().max())
    if wrong < 1e-9:
        return 0, "the result is right although the output is a factor"
    return 1, "written over its own factor the result is off by %.3g" % wrong


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
