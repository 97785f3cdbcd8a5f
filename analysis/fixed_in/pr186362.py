"""Compiled vmap of the apply of a custom function with a generated rule must be traced whole and be right."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    class Twice(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x.sin() * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.saved_tensors[0].cos() * 2

    def mapped(x):
        return torch.vmap(Twice.apply)(x)

    x = torch.linspace(0, 1, 6).view(2, 3).requires_grad_()
    (want,) = torch.autograd.grad(mapped(x).sum(), x)
    try:
        out = torch.compile(mapped, backend="aot_eager", fullgraph=True)(x)
        (got,) = torch.autograd.grad(out.sum(), x)
    except Exception as error:
        print(type(error).__name__, str(error)[:300])
        return True
    print(want, got)
    return not torch.allclose(got, want)


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
