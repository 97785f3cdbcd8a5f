# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#107084"]
# relation = "sibling"
# bug_type = "data_type"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = ["1.13.1", "2.0.1"]
# fixed_in = "2.1.2"
# signature = "mismatch"
# oracle = "self"
# ///
"""Evaluates self-attention with a padding mask of floats that are to be added to the scores. Training and evaluation
must agree without dropout. Instead the fast path of evaluation takes every float that is not zero for "leave out",
up to rows without any key."""

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
    module = torch.nn.MultiheadAttention(8, 2, batch_first=True)
    steps, added = torch.randn(3, 4, 8), torch.zeros(3, 4)
    added[:, 1] = 0.5

    def attend(training):
        module.train(training)
        with torch.no_grad():
            return module(steps, steps, steps, key_padding_mask=added, need_weights=False)[0]

    expected, got = attend(training=True), attend(training=False)
    got = spoil(got)
    heads = torch.nn.functional.linear(steps, module.in_proj_weight, module.in_proj_bias).reshape(3, 4, 3, 2, 4)
    query, key, value = heads.permute(2, 0, 3, 1, 4)
    scores = query @ key.transpose(-1, -2) / 2 + added[:, None, None, :]
    truth = module.out_proj((scores.softmax(-1) @ value).transpose(1, 2).reshape(3, 4, 8)).detach()
    if not torch.allclose(expected, truth, atol=1e-5):
        return 125, "the workaround path fails too: attention in training disagrees with one by hand"
    wrong = float((got - expected).abs().max())
    if wrong < 1e-5:
        return 0, "evaluation agrees with training"
    return 1, "with an added 0.5 the evaluation is off by up to %.3g" % wrong


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
