"""Inside torch.func.grad and vjp a sparse tensor must still be sparse."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    sparse = torch.eye(3).to_sparse()
    seen = []

    def dense(s):
        seen.append((s.layout, s.is_sparse))
        return s.to_dense().sum()

    for f in (lambda: torch.func.vjp(dense, sparse), lambda: torch.func.grad(dense)(sparse)):
        try:
            f()
        except Exception as error:
            print(type(error).__name__, str(error)[:200])
    print(seen)
    return [one[0] for one in seen] != [torch.sparse_coo] * 2


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
