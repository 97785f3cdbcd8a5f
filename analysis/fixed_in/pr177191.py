"""Changes a number that is an attribute of a class: compiled code must notice."""

import sys


def bug():
    """Whether the bug is there."""
    import enum

    import torch

    class Kind(enum.Enum):
        LOW = 1
        HIGH = 2

    class Settings:
        factor = 2
        kind = Kind.LOW

    def scaled(x):
        return x * Settings.factor + (10 if Settings.kind is Kind.HIGH else 0)

    run = torch.compile(scaled, backend="eager")
    first = run(torch.ones(1)).item()
    Settings.factor = 5
    second = run(torch.ones(1)).item()
    Settings.kind = Kind.HIGH
    third = run(torch.ones(1)).item()
    print(first, second, third)
    return (first, second, third) != (2.0, 5.0, 15.0)


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
