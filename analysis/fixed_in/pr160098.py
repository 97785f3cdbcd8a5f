"""A gradient edge of a custom function's output, once the output is gone, must still take a gradient."""

import sys


def bug():
    """Whether the bug is there."""
    import torch
    from torch.autograd.graph import get_gradient_edge

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    def edge_of(x):
        return get_gradient_edge(Twice.apply(x))

    x = torch.ones(2, requires_grad=True)
    edge = edge_of(x)
    try:
        (got,) = torch.autograd.grad(edge, x, grad_outputs=torch.ones(2))
    except Exception as error:
        print(type(error).__name__, str(error)[:200])
        return True
    print(got)
    return got.tolist() != [2.0, 2.0]


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
