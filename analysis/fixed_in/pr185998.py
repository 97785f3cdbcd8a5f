"""Defines a class inside compiled code whose methods use a tensor and an object from around it."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    class Holder:
        n = 4

    def defines(x):
        y, holder = x * 2, Holder()

        class Scale:
            def __init__(self, extra):
                self.extra = extra

            def __call__(self, z):
                return z + y + holder.n + self.extra

        return Scale(2)(x)

    want = defines(torch.ones(2))
    for full in (False, True):
        torch._dynamo.reset()
        try:
            got = torch.compile(defines, backend="eager", fullgraph=full)(torch.ones(2))
        except Exception as error:
            print(full, type(error).__name__, str(error)[:300])
            return True
        if not torch.equal(want, got):
            return True
    return False


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
