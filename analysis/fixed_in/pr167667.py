"""Gradients of compiled weight normalization must be those of eager mode."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    torch.manual_seed(0)
    v = torch.randn(6, 4).t().requires_grad_()
    g = torch.randn(4, 1).requires_grad_()

    def weight(v, g):
        return torch._weight_norm(v * 1.5, g, 0).t().contiguous().cos()

    weight(v, g).sum().backward()
    want = v.grad, g.grad
    v.grad = g.grad = None
    try:
        torch.compile(weight)(v, g).sum().backward()
    except Exception as error:
        print(type(error).__name__, str(error)[-300:])
        return True
    print((v.grad - want[0]).abs().max())
    return not torch.allclose(v.grad, want[0], atol=1e-4) or not torch.allclose(g.grad, want[1], atol=1e-4)


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
