"""Unflattens an exported program without any inputs, parameters and buffers, and runs it."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    class Nothing(torch.nn.Module):
        def forward(self):
            return torch.ones(3) * 2

    class Outer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.part = Nothing()

        def forward(self):
            return self.part() + 1

    for module, want in ((Nothing(), 2.0), (Outer(), 3.0)):
        exported = torch.export.export(module, ())
        try:
            got = torch.export.unflatten(exported)()
        except IndexError as error:
            print(type(module).__name__, type(error).__name__, str(error)[:200])
            return True
        print(got)
        if not torch.equal(got, torch.full((3,), want)):
            return True
    return False


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
