"""Compiled as_strided of an input that is seen as another type must count in that type."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    def seen(x):
        return torch.as_strided(x.view(torch.int32), (2, 3), (3, 1)) + 1

    x = torch.arange(8, dtype=torch.float32)
    want = seen(x)
    try:
        got = torch.compile(seen)(x)
    except Exception as error:
        print(type(error).__name__, str(error)[-300:])
        return True
    print(want, got)
    return want.dtype != got.dtype or not torch.equal(want, got)


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
