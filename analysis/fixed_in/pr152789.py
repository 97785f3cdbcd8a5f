"""The largest eigenvalue that lobpcg finds of a matrix with negative eigenvalues only."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    torch.manual_seed(0)
    wrong = []
    for _ in range(5):
        half = torch.randn(9, 9, dtype=torch.float64)
        matrix = -(half @ half.t()) - torch.eye(9, dtype=torch.float64)
        truth = torch.linalg.eigvalsh(matrix)[-1].item()
        got = torch.lobpcg(matrix, k=1, X=torch.randn(9, 1, dtype=torch.float64), niter=200, largest=True)[0].item()
        wrong.append(abs(got / truth - 1) > 0.01)
        print(got, truth)
    return any(wrong)


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
