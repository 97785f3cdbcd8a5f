"""Unflattens an exported program whose forward takes no inputs, and runs it."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    class Nothing(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(3))

        def forward(self):
            return self.weight * 2

    exported = torch.export.export(Nothing(), ())
    try:
        got = torch.export.unflatten(exported)()
    except Exception as error:
        print(type(error), str(error)[:200])
        return True
    return not torch.equal(got, torch.full((3,), 2.0))


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
