# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#80206"]
# relation = "same"
# bug_type = "data_type"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Differentiates the soft margin loss of four float64 scores for a target of unsigned bytes, two zeros and two ones.
The gradient should be that for a target of wider integers. Instead the negation of the target wraps around in eight
bits, and minus a quarter comes out where minus a tenth is due."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        import torch

        observed = torch.zeros(1, 4, dtype=torch.float64)
    return observed


def is_refusal(error):
    """True where error is the refusal that is due here, by its type and its words."""
    return isinstance(error, RuntimeError) and any(words in str(error) for words in ("uint8", "Byte", "dtype"))


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    scores = torch.tensor([[0.9707, 0.2672, 0.2389, 0.6876]], dtype=torch.float64)

    def gradient(target):
        leaf = scores.clone().requires_grad_()
        return torch.autograd.grad(torch.nn.functional.soft_margin_loss(leaf, target), leaf)[0]

    ones = torch.tensor([0, 0, 1, 1])
    expected = gradient(ones.to(torch.int16))
    if not torch.allclose(expected, -torch.sigmoid(-scores) * ones / 4, atol=1e-6):
        return 125, "the workaround path fails too: the gradient for a wider target is %s" % expected.tolist()
    try:
        got = gradient(ones.to(torch.uint8))
    except RuntimeError as error:
        if not is_refusal(error):
            raise
        got = error
    got = spoil(got)
    if isinstance(got, Exception):
        return 0, "refused: %s" % str(got)[:80]
    if torch.allclose(got, expected, atol=1e-6):
        return 0, "both types of target give the same gradient"
    return 1, "gradient %s for a byte target, %s for a wider one" % (got.tolist(), expected.tolist())


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
