"""native_group_norm and its backward of a tensor that is not contiguous must be those of the dense copy."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    torch.manual_seed(0)
    base = torch.randn(2, 5, 4).permute(0, 2, 1)
    weight = torch.randn(8)[::2]
    bias = torch.randn(8)[::2]
    want = torch.native_group_norm(base.contiguous(), weight.contiguous(), bias.contiguous(), 2, 4, 5, 2, 1e-5)
    try:
        got = torch.native_group_norm(base, weight, bias, 2, 4, 5, 2, 1e-5)
        grad = torch.randn(2, 5, 4).permute(0, 2, 1)
        backward = torch.ops.aten.native_group_norm_backward
        tail = (2, 4, 5, 2, [True, True, True])
        slopes = backward(grad.contiguous(), base.contiguous(), want[1], want[2], weight.contiguous(), *tail)
        other = backward(grad, base, want[1], want[2], weight, *tail)
    except RuntimeError as error:
        print(str(error)[:200])
        return True
    pairs = [*zip(want, got), *zip(slopes, other)]
    print([torch.allclose(a, b, atol=1e-5) for a, b in pairs])
    return not all(torch.allclose(a, b, atol=1e-5) for a, b in pairs)


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
