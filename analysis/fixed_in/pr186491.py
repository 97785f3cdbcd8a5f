"""Compiled code must ask the metaclass whether a tensor is an instance."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    class Asks(type):
        def __instancecheck__(cls, one):
            return getattr(one, "ndim", 0) == 2

    class Matrix(metaclass=Asks):
        pass

    def ask(x):
        return x + (10 if isinstance(x, Matrix) else 0)

    wrong = []
    for x in (torch.zeros(1), torch.zeros(1, 1)):
        torch._dynamo.reset()
        want = ask(x)
        try:
            got = torch.compile(ask, backend="eager")(x)
        except Exception as error:
            print(type(error).__name__, str(error)[:200])
            return True
        wrong.append((want.item(), got.item()))
    print(wrong)
    return any(want != got for want, got in wrong)


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
