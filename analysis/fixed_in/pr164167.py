"""Compiles copy_ from a number into a tensor."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    def filled(x):
        y = torch.zeros_like(x)
        y.copy_(3)
        z = torch.zeros(4, dtype=torch.int64)
        z.copy_(2.5)
        return y + x, z

    x = torch.arange(64.0)
    want = filled(x)
    try:
        got = torch.compile(filled)(x)
    except Exception as error:
        print(type(error).__name__, str(error)[-300:])
        return True
    print(got[0][:3], got[1])
    return not all(torch.equal(a, b) for a, b in zip(want, got))


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
