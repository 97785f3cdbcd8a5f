"""Compiled polygamma of order 0 must be digamma."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    x = torch.tensor([0.5, 1.0, 2.5, 10.0])
    want = torch.polygamma(0, x)
    try:
        got = torch.compile(lambda x: torch.polygamma(0, x) + 0)(x)
    except Exception as error:
        print(type(error), str(error)[-300:])
        return True
    print(want, got, torch.digamma(x))
    return not torch.allclose(want, got, atol=1e-5, equal_nan=True)


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
