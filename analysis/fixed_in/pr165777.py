"""The gradient of addmv with a real first argument and a complex product must exist, or forward must refuse them."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    start = torch.ones(2, dtype=torch.float64, requires_grad=True)
    matrix = torch.full((2, 3), 1 + 2j, dtype=torch.complex128, requires_grad=True)
    vector = torch.full((3,), 2 - 1j, dtype=torch.complex128, requires_grad=True)
    try:
        total = torch.addmv(start, matrix, vector).sum()
    except RuntimeError as error:
        print("refused:", str(error)[:200])
        return False
    try:
        total.real.backward()
    except RuntimeError as error:
        print(str(error)[:200])
        return True
    print(start.grad)
    return start.grad.dtype != torch.float64


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
