"""Compiles as_strided of a tensor that is seen as another type."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    def seen(x):
        y = (x + 1).view(torch.int32)
        return torch.as_strided(y, (2, 3), (3, 1)) + 1

    x = torch.arange(8, dtype=torch.float32)
    want = seen(x)
    try:
        got = torch.compile(seen)(x)
    except Exception as error:
        print(type(error).__name__, str(error)[-300:])
        return True
    return not torch.equal(want, got)


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
