"""Compiles a function that returns a sum and a view, made without gradients, of the value that was summed."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    def both(x):
        y = x * 3
        with torch.no_grad():
            view = y.view(-1)
        return y.sum(), view

    x = torch.randn(2, 3, requires_grad=True)
    want = both(x)
    try:
        got = torch.compile(both, backend="aot_eager")(x)
        got[0].backward()
    except Exception as error:
        print(type(error).__name__, str(error)[:200])
        return True
    print(want[1].requires_grad, got[1].requires_grad)
    return not torch.equal(want[1], got[1]) or want[1].requires_grad != got[1].requires_grad


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
