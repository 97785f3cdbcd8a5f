"""Inside torch.func.grad a sparse tensor must still be sparse."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    sparse = torch.eye(3).to_sparse()
    seen = []

    def product(x, weights):
        seen.append((x.layout, weights.layout, weights.is_sparse))
        return (torch.sparse.mm(x, weights)).sum() if x.is_sparse else (x @ weights).sum()

    try:
        torch.func.grad(lambda w: product(sparse, w))(torch.ones(3, 2))
        torch.func.jvp(lambda s: seen.append((s.layout, s.is_sparse)) or s.to_dense(), (sparse,), (sparse,))
        torch.func.vjp(lambda s: seen.append((s.layout, s.is_sparse)) or s.to_dense(), sparse)
    except Exception as error:
        print(type(error).__name__, str(error)[:200], seen)
        return True
    print(seen)
    return [one[0] for one in seen[1:]] != [torch.sparse_coo] * 2


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
