"""The largest eigenvalue that lobpcg finds of a generalized problem with negative eigenvalues only."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    torch.manual_seed(0)
    wrong = []
    for n in (3, 4, 6, 9) * 5:
        half, other = torch.randn(2, n, n, dtype=torch.float64)
        matrix = -(half @ half.t()) / n - 0.1 * torch.eye(n, dtype=torch.float64)
        by = other @ other.t() / n + 0.5 * torch.eye(n, dtype=torch.float64)
        truth = torch.linalg.eigvals(torch.linalg.solve(by, matrix)).real.max().item()
        start = torch.randn(n, 1, dtype=torch.float64)
        got = torch.lobpcg(matrix, B=by, k=1, X=start, niter=500, largest=True)[0].item()
        wrong.append(abs(got / truth - 1) > 0.01)
    print(sum(wrong), "of", len(wrong))
    return any(wrong)


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
