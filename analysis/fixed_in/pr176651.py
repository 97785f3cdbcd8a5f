"""Compiles resize_ of a view whose rows overlap."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    def longer(x):
        view = x.as_strided((3, 3), (1, 1)).clone(memory_format=torch.preserve_format)
        return torch.ops.aten.resize(x.as_strided((3, 3), (1, 1)), [2, 3]) + view.sum()

    x = torch.arange(9.0)
    want = longer(x)
    try:
        got = torch.compile(longer)(x)
    except Exception as error:
        print(type(error), str(error)[-300:])
        return True
    print(want, got)
    return not torch.equal(want, got)


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
