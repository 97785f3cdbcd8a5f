"""Compiles a transposed conversion from and to eight-bit floats on the CPU."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    def turned(x, y):
        return (x.t().to(torch.float32) + y).contiguous(), (y.t() * 2).to(torch.float8_e4m3fn).contiguous()

    x = torch.randn(64, 48).to(torch.float8_e4m3fn)
    y = torch.randn(48, 64)
    want = turned(x, y)
    try:
        got = torch.compile(turned)(x, y)
    except Exception as error:
        print(type(error), str(error)[-300:])
        return True
    return not all(torch.equal(a.float(), b.float()) for a, b in zip(want, got))


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
