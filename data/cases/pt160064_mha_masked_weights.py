# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#160064", "pytorch/pytorch#41508"]
# relation."pytorch/pytorch#160064" = "same"
# relation."pytorch/pytorch#41508" = "sibling"
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
"""Runs attention of three heads, of which the mask leaves two free and hides everything from the third, and asks for
the weights of each head. The result should be the same as without asking, since the weights are only an extra output.
Instead everything is NaN."""

import os
import sys

TRUTH = [1.0, 1.0, 0.0] * 5  # equal tokens of ones: two heads hand them on, the third has nothing to attend to


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
    layer = torch.nn.MultiheadAttention(3, 3, bias=True, batch_first=True)
    with torch.no_grad():
        layer.in_proj_weight.copy_(torch.eye(3).repeat(3, 1))
        layer.out_proj.weight.copy_(torch.eye(3))
        layer.in_proj_bias.zero_()
        layer.out_proj.bias.zero_()
    return layer


def bug_path(torch):
    """Return the output of attention whose last head may attend to nothing, weights requested."""
    layer = attention(torch)
    tokens = torch.ones(1, 5, 3)
    mask = torch.tensor([False, False, True]).view(3, 1, 1).expand(3, 5, 5)
    output, _ = layer(tokens, tokens, tokens, attn_mask=mask, need_weights=True, average_attn_weights=False)
    return output.flatten().tolist()


def workaround_path(torch):
    """Return the projection of what two heads hand on and the third one does not."""
    layer = attention(torch)
    seen = torch.tensor([1.0, 1.0, 0.0]).expand(5, 3)
    return (seen @ layer.out_proj.weight.t() + layer.out_proj.bias).flatten().tolist()


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
        return 0, "attention with weights: %s, as it should be" % got
    return 1, "attention with weights: %s, expected %s" % (got, expected)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
