"""Compiled code must not keep a tensor subclass with metadata alive."""

import sys


def bug():
    """Whether the bug is there."""
    import gc
    import weakref

    import torch

    class Marked(torch.Tensor):
        @staticmethod
        def __new__(cls, inner, mark):
            made = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
            made.inner, made.mark = inner, mark
            return made

        def __tensor_flatten__(self):
            return ["inner"], self.mark

        @staticmethod
        def __tensor_unflatten__(inner, mark, size, stride):
            return Marked(inner["inner"], mark)

        @classmethod
        def __torch_dispatch__(cls, f, types, args=(), kwargs=None):
            return Marked(
                f(*[one.inner if isinstance(one, Marked) else one for one in args], **(kwargs or {})), args[0].mark
            )

    run = torch.compile(lambda x: x + 1, backend="aot_eager")
    x = Marked(torch.ones(2), ("a", 1))
    run(x)
    dead = weakref.ref(x), weakref.ref(x.inner)
    del x
    gc.collect()
    print([one() is None for one in dead])
    return any(one() is not None for one in dead)


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
