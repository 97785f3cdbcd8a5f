# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#175084"]
# relation = "same"
# bug_type = "memory"
# memory_type = "non_contiguous"
# memory_subtype = "input_tensor_management"
# consequence = "runtime_error"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "RuntimeError: grad_input must be contiguous"
# oracle = "self"
# ///
"""Feeds probabilities whose class axis was moved to the second place into the negative log likelihood of images and
differentiates. The gradient should come out as for a dense copy, or for inputs with one axis less or more.
Instead the backward pass refuses the layout it made itself."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        raise RuntimeError("grad_input must be contiguous (injected)")
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.manual_seed(0)
    scores = torch.rand(2, 4, 5, 3)
    target = torch.randint(0, 3, (2, 4, 5))

    def gradient(copy):
        leaf = scores.clone().requires_grad_()
        moved = leaf.movedim(-1, 1)
        torch.nn.functional.nll_loss(moved.contiguous() if copy else moved, target).backward()
        return leaf.grad

    expected = gradient(copy=True)
    truth = torch.zeros(2, 4, 5, 3).scatter_(-1, target.unsqueeze(-1), -1 / 40)
    if not torch.allclose(expected, truth):
        return 125, "the workaround path fails too: the gradient of a dense copy is wrong"
    try:
        got = gradient(copy=False)
        got = spoil(got)
    except RuntimeError as error:
        if "must be contiguous" in str(error):
            return 1, "backward raised RuntimeError: %s" % str(error).splitlines()[0]
        raise
    if not torch.allclose(got, truth):
        return 125, "another failure: no exception, but the gradient is wrong"
    return 0, "the gradient of the moved scores is right"


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
