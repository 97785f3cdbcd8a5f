"""Compiled code must ask the metaclass whether something is an instance."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    class Asks(type):
        def __instancecheck__(cls, one):
            return getattr(one, "quacks", False)

    class Duck(metaclass=Asks):
        pass

    class Robot:
        quacks = True

    robot, stone = Robot(), object()

    def ask(x):
        return x + (1 if isinstance(robot, Duck) else 0) + (10 if isinstance(3, Duck) else 0), isinstance(robot, (int, Duck))

    want = ask(torch.zeros(1))
    try:
        got = torch.compile(ask, backend="eager", fullgraph=True)(torch.zeros(1))
    except Exception as error:
        print(type(error).__name__, str(error)[:200])
        return True
    print(want, got)
    return want != got


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
