"""Gradients of addmv where the first argument is broadcast, and with beta and alpha of other types."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    torch.manual_seed(0)
    for shape in ((3,), (1,), ()):
        start = torch.randn(shape, dtype=torch.float64, requires_grad=True)
        matrix = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
        vector = torch.randn(4, dtype=torch.float64, requires_grad=True)
        try:
            if not torch.autograd.gradcheck(
                lambda s, m, v: torch.addmv(s, m, v, beta=2, alpha=3), (start, matrix, vector), raise_exception=False
            ):
                print(shape)
                return True
        except RuntimeError as error:
            print(shape, str(error)[:200])
            return True
    return False


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
