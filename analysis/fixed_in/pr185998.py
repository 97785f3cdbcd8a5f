"""Defines a class inside compiled code and uses it."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    def defines(x):
        class Scale:
            factor = 3

            def __init__(self, extra):
                self.extra = extra

            def __call__(self, x):
                return x * self.factor + self.extra

        return Scale(2)(x)

    want = defines(torch.ones(2))
    try:
        got = torch.compile(defines, backend="eager")(torch.ones(2))
        full = torch.compile(defines, backend="eager", fullgraph=True)(torch.ones(2))
    except Exception as error:
        print(type(error), str(error)[:300])
        return True
    return not torch.equal(want, got) or not torch.equal(want, full)


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
