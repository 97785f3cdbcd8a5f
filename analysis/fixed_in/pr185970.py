"""Compiled argmax and argmin of Boolean values."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    def places(x):
        return x.argmax(), x.argmin(), x.argmax(1), x.argmin(1), x.argmax(0)

    torch.manual_seed(0)
    x = torch.rand(7, 33) > 0.6
    want = places(x)
    try:
        got = torch.compile(places)(x)
    except Exception as error:
        print(type(error).__name__, str(error)[-300:])
        return True
    print(want[2].tolist(), got[2].tolist())
    return not all(torch.equal(a, b) for a, b in zip(want, got))


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
