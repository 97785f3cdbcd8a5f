"""A custom function that ends a checkpoint and saves what it gives back must not keep its memory."""

import sys


def bug():
    """Whether the bug is there."""
    import gc
    import weakref

    import torch
    from torch.utils.checkpoint import checkpoint

    seen = []

    class Pair(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            first, second = torch.zeros(8), torch.zeros(8)
            seen.extend((weakref.ref(first), weakref.ref(second)))
            ctx.save_for_backward(x, first, second)
            return first, second

        @staticmethod
        def backward(ctx, one, two):
            _ = ctx.saved_tensors
            return None

    def run():
        x = torch.ones(8, requires_grad=True)
        for _ in range(3):
            checkpoint(lambda x: Pair.apply(x)[0], x, use_reentrant=False).sum().backward()

    gc.disable()
    run()
    alive = sum(ref() is not None for ref in seen)
    gc.collect()
    print(alive, sum(ref() is not None for ref in seen), "of", len(seen))
    return alive > 0


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
