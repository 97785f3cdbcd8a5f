"""Exports (without dynamo) a module whose forward is a functools.partial."""

import sys


def bug():
    """Whether the bug is there."""
    import functools

    import torch

    class Plain(torch.nn.Module):
        def forward(self, x, y, scale):
            return x + y * scale

    module = Plain()
    module.forward = functools.partial(module.forward, scale=3)
    x, y = torch.ones(2), torch.ones(2)
    try:
        got = torch.export.export(module, (x, y), strict=False).module()(x, y)
    except Exception as error:
        print(type(error), str(error)[:300])
        return True
    return got.tolist() != [4.0, 4.0]


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
