"""Compiles copy_ from a tensor without dimensions, and from one of another type, into a larger one."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    def filled(x, value, whole):
        y = torch.empty_like(x)
        y.copy_(value)
        z = torch.zeros((), dtype=torch.int64)
        z.copy_(whole)
        return x.clone().copy_(torch.tensor(3.5)) + y, z

    x = torch.ones(2, 3)
    arguments = (x, torch.tensor(2.0), torch.tensor(2.7))
    want = filled(*arguments)
    try:
        got = torch.compile(filled)(*arguments)
    except Exception as error:
        print(type(error), str(error)[-300:])
        return True
    print(want, got)
    return not all(torch.equal(a, b) for a, b in zip(want, got))


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
