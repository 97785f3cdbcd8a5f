"""A custom function inside a checkpoint that stops early must not keep its output alive."""

import sys


def bug():
    """Whether the bug is there."""
    import gc
    import weakref

    import torch
    from torch.utils.checkpoint import checkpoint

    seen = []

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            out = x * 2
            ctx.save_for_backward(out)
            seen.append(weakref.ref(ctx))
            return out

        @staticmethod
        def backward(ctx, grad):
            (ctx.saved_tensors[0],)
            return grad * 2

    x = torch.ones(3, requires_grad=True)
    checkpoint(lambda x: Twice.apply(Twice.apply(x)), x, use_reentrant=False).sum().backward()
    alive = sum(ref() is not None for ref in seen)
    gc.collect()
    print(alive, sum(ref() is not None for ref in seen))
    return any(ref() is not None for ref in seen)


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
