# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#41508"]
# relation = "same"
# bug_type = "logical"
# consequence = "nan_inf"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Runs attention over three steps with a window of two and a second sequence of which only the first step is no
padding, so that its last step sees nothing, and differentiates a loss over first steps alone. The gradient should be
that without the last step, which the loss does not use. Instead the empty row turns it into NaN."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed * float("nan")
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.manual_seed(0)
    layer = torch.nn.MultiheadAttention(embed_dim=1, num_heads=1)
    steps = torch.rand(3, 2, 1)
    padding = torch.tensor([[False, False, False], [False, True, True]])
    hidden = float("-inf")
    window = torch.tensor([[0.0, hidden, hidden], [0.0, 0.0, hidden], [hidden, 0.0, 0.0]])

    def gradient(length):
        layer.zero_grad()
        shown = steps[:length]
        output, _ = layer(shown, shown, shown, key_padding_mask=padding[:, :length], attn_mask=window[:length, :length])
        output[0].sum().backward()
        return layer.in_proj_weight.grad.flatten().clone()

    got = gradient(3)
    got = spoil(got)
    # Of two steps, each sees at least one: no row is empty.
    expected = gradient(2)
    if not torch.isfinite(expected).all():
        return 125, "the workaround path fails too: two steps give the gradient %s" % expected.tolist()
    if torch.allclose(got, expected, atol=1e-6):
        return 0, "the gradient of the projection is %s" % got.tolist()
    return 1, "the gradient of the projection is %s, without the last step %s" % (got.tolist(), expected.tolist())


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
