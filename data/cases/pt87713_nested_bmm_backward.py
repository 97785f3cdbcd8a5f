# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#87713", "pytorch/pytorch#88108"]
# relation."pytorch/pytorch#87713" = "sibling"
# relation."pytorch/pytorch#88108" = "same"
# bug_type = "memory"
# memory_type = "non_contiguous"
# memory_subtype = "cuda_limitation"
# consequence = "runtime_error"
# requires = ["cuda"]
# known_bad = []
# signature = "RuntimeError: contiguous"
# oracle = "self"
# ///
"""Multiplies two nested batches of matrices on the GPU and differentiates. Gradients like those of single products
are due, as on the CPU. Instead every backward pass fails: the derivative multiplies by transposed operands, and
the routine takes dense buffers only."""

import os
import sys

DEVICE = "cuda"


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        raise RuntimeError("NestedTensor must be contiguous (injected)")
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    if not torch.cuda.is_available():
        return 125, "no CUDA device here"
    make = getattr(torch.nested, "nested_tensor", None)
    if make is None:
        return 125, "this release has no constructor for nested tensors"
    torch.manual_seed(0)
    lefts = [torch.randn(2, 4, device=DEVICE), torch.randn(3, 5, device=DEVICE)]
    rights = [torch.randn(4, 6, device=DEVICE), torch.randn(5, 7, device=DEVICE)]

    def gradients(nested):
        leaves = [x.clone().requires_grad_() for x in lefts + rights]
        if nested:
            product = torch.bmm(torch.nested.as_nested_tensor(leaves[:2]), torch.nested.as_nested_tensor(leaves[2:]))
            torch.nested.to_padded_tensor(product, 0.0).square().sum().backward()
        else:
            ((leaves[0] @ leaves[2]).square().sum() + (leaves[1] @ leaves[3]).square().sum()).backward()
        return torch.cat([x.grad.flatten() for x in leaves]).cpu()

    if not hasattr(torch.nested, "as_nested_tensor"):
        return 125, "this release cannot differentiate through the construction of nested tensors"
    expected = gradients(nested=False)
    try:
        got = gradients(nested=True)
        got = spoil(got)
    except RuntimeError as error:
        if "contiguous" in str(error):
            return 1, "backward raised RuntimeError: " + str(error).partition("\n")[0]
        raise
    if not torch.allclose(got, expected, atol=1e-3):
        return 125, "another failure: no exception, but the gradients are wrong"
    return 0, "the gradients agree with those of single products"


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
