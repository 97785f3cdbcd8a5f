"""Compiled code reads attributes of a method that is itself compiled."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    class Layer(torch.nn.Module):
        def forward(self, x):
            return self.inner(x) + (1 if hasattr(self.inner, "mark") else 2) + len(self.inner.__name__)

        def inner(self, x):
            return x * 2

    layer = Layer()
    want = layer(torch.ones(1))
    layer.inner = torch.compile(layer.inner, backend="eager")
    plain = layer(torch.ones(1))
    try:
        got = torch.compile(layer, backend="eager")(torch.ones(1))
    except Exception as error:
        print(type(error).__name__, str(error)[:300])
        return "Internal" in type(error).__name__ or "Internal" in str(error)
    print(want, plain, got)
    return not torch.equal(plain, got)


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
