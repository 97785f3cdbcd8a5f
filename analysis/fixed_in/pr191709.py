"""Compiled uniform_ on every other row of a tensor must fill these rows from the range, and leave the others."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    def fill(x):
        return x[:, 1::2].uniform_(2.0, 3.0)

    wrong = []
    for shape in ((2, 7, 4),):
        torch._dynamo.reset()
        x = torch.full(shape, 9.0)
        fill(x.clone())
        try:
            got = torch.compile(fill, fullgraph=True)(x)
        except Exception as error:
            print(type(error).__name__, str(error)[:200])
            return True
        inside = (got >= 2.0) & (got <= 3.0)
        wrong.append((not bool(inside.all()), not torch.equal(x[:, 1::2], got), bool((x[:, ::2] != 9.0).any())))
    print(wrong)
    return any(any(one) for one in wrong)


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
