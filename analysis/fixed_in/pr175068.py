"""Gradient of the trace of a matrix with fewer rows than columns, and the other way."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    for shape in ((2, 4), (4, 2), (3, 3)):
        x = torch.randn(shape, requires_grad=True)
        try:
            x.trace().backward()
        except RuntimeError as error:
            print(shape, str(error)[:100])
            return True
        if not torch.equal(x.grad, torch.eye(*shape)):
            print(shape, x.grad)
            return True
    return False


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
