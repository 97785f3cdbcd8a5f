"""A compiled custom function with a generated rule, under vmap outside of it and inside, with gradients."""

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

    x = torch.linspace(0, 1, 6).view(2, 3).requires_grad_()
    (want,) = torch.autograd.grad(torch.vmap(Twice.apply)(x).sum(), x)
    inside = torch.compile(lambda x: torch.vmap(Twice.apply)(x), backend="aot_eager")
    outside = torch.vmap(torch.compile(lambda x: Twice.apply(x), backend="eager"))
    found = []
    for f in (inside, outside):
        try:
            found.append(torch.allclose(torch.autograd.grad(f(x).sum(), x)[0], want))
        except Exception as error:
            print(type(error).__name__, str(error)[:200])
            found.append(False)
    print(found)
    return not all(found)


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
