"""Gradient of the determinant of a matrix of one number, zero, too."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    found = []
    for value in (2.0, 0.1, 0.0):
        for kind in (torch.float64, torch.complex128):
            x = torch.tensor([[value]], dtype=kind, requires_grad=True)
            torch.linalg.det(x).abs().backward() if value and kind.is_complex else torch.linalg.det(x).real.backward()
            found.append((value, x.grad.item()))
    print(found)
    return any(abs(slope - 1) > 1e-12 for _, slope in found)


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
