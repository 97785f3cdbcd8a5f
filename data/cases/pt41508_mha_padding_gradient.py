# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#41508"]
# relation = "sibling"
# bug_type = "logical"
# consequence = "nan_inf"
# requires = ["cpu"]
# known_bad = ["1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1"]
# fixed_in = "2.5.1"
# signature = "mismatch"
# oracle = "self"
# ///
"""Runs multi-head attention (without asking for the weights) on a batch whose second sequence is padding throughout,
and differentiates a loss over the first sequence alone. The gradient should be that of the first sequence. Instead
the masked rows turn it into NaN on its way back through the shared weights."""

import os
import sys

TRUTH = [0.0] * 8 + [3.0] * 4  # equal tokens: the scores do not matter, each value weight is used by three outputs


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed[0] = float("nan")
    return observed


def same(left, right):
    """Return True where two lists of numbers agree to one in a thousand; NaN agrees with nothing."""

    def near(a, b):
        return a == b or abs(a - b) < max(1e-6, 1e-3 * max(abs(a), abs(b)))

    return len(left) == len(right) and all(map(near, left, right))


def attention(torch):
    """Return a small attention layer with weights that are known: value and output projection are the identity."""
    layer = torch.nn.MultiheadAttention(2, 1, bias=True, batch_first=True)
    with torch.no_grad():
        layer.in_proj_weight.copy_(torch.eye(2).repeat(3, 1))
        layer.out_proj.weight.copy_(torch.eye(2))
        layer.in_proj_bias.zero_()
        layer.out_proj.bias.zero_()
    return layer


def bug_path(torch):
    """Return the gradient of the projection with one sequence of padding in the batch."""
    layer = attention(torch)
    tokens = torch.ones(2, 3, 2)
    padding = torch.tensor([[False] * 3, [True] * 3])
    output, _ = layer(tokens, tokens, tokens, key_padding_mask=padding, need_weights=False)
    output[0].sum().backward()
    return layer.in_proj_weight.grad.flatten().tolist()


def workaround_path(torch):
    """Return the gradient with the padded sequence left out."""
    layer = attention(torch)
    tokens = torch.ones(1, 3, 2)
    output, _ = layer(tokens, tokens, tokens, need_weights=False)
    output[0].sum().backward()
    return layer.in_proj_weight.grad.flatten().tolist()


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    got = bug_path(torch)
    got = spoil(got)
    expected = workaround_path(torch)
    if not same(expected, TRUTH):
        return 125, "the workaround path fails too: %s" % expected
    if same(got, expected):
        return 0, "gradient of the projection: %s, as it should be" % got
    return 1, "gradient of the projection: %s, expected %s" % (got, expected)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
