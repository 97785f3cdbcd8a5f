"""A custom function inside a checkpoint that stops early must not keep its memory."""

import sys


def bug():
    """Whether the bug is there."""
    import gc

    import torch
    from torch.multiprocessing.reductions import StorageWeakRef
    from torch.utils.checkpoint import checkpoint

    seen = []

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            out = x * 2
            ctx.save_for_backward(x, out)
            seen.append(StorageWeakRef(out.untyped_storage()))
            return out

        @staticmethod
        def backward(ctx, grad):
            (ctx.saved_tensors[0],)
            return grad * 2

    for _ in range(3):
        x = torch.ones(3, requires_grad=True)
        for f in (
            lambda x: Twice.apply(Twice.apply(x.clone())),
            lambda x: Twice.apply(x.exp()),
            lambda x: Twice.apply(x).sin(),
        ):
            checkpoint(f, x, use_reentrant=False).sum().backward()
    del x
    gc.collect()
    alive = sum(not ref.expired() for ref in seen)
    print(alive, "of", len(seen))
    return alive > 0


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
