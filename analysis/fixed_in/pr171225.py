"""First and second derivative of the determinant of a matrix of one number."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    for value in (2.0, 0.0):
        x = torch.tensor([[value]], dtype=torch.float64, requires_grad=True)
        try:
            (slope,) = torch.autograd.grad(torch.linalg.det(x), x, create_graph=True)
            if slope.item() != 1.0 or not torch.autograd.gradgradcheck(torch.linalg.det, (x,), raise_exception=False):
                print(value, slope)
                return True
        except RuntimeError as error:
            print(value, str(error)[:150])
            return True
    return False


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
