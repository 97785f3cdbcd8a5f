"""Sizes that do not fit the indices of a sparse tensor must be refused with the sizes that were given."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    try:
        torch.sparse_coo_tensor(torch.tensor([[0], [1], [2]]), torch.tensor([1.0]), size=(3,))
    except RuntimeError as error:
        print(str(error)[:200])
        return "len(size) = 1" not in str(error)
    return True


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
