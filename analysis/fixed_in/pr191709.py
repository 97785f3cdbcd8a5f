"""Multiplies tiny matrices, one of them transposed, in compiled code: the result must be that of eager mode."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    def small(a, b):
        return a.mT @ b, (a @ a.mT).sum(-1)

    wrong = []
    for m, k, n in ((2, 3, 4), (64, 3, 2), (80, 4, 4), (3, 2, 2)):
        a, b = torch.randn(k, m), torch.randn(k, n)
        a2 = torch.randn(m, k).t()
        want = [*small(a, b), *small(a2, b)]
        run = torch.compile(small)
        got = [*run(a, b), *run(a2, b)]
        wrong.append(not all(torch.allclose(x, y, atol=1e-5) for x, y in zip(want, got)))
    print(wrong)
    return any(wrong)


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
