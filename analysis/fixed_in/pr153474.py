"""Unflattens an exported program whose parts, or the whole, take no inputs, and runs it."""

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

    class Outer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.part = Nothing()

        def forward(self):
            return self.part() + 1

    for module, want in ((Nothing(), 2.0), (Outer(), 3.0)):
        for names in ((), ("part",) if want == 3.0 else ()):
            exported = torch.export.export(module, (), preserve_module_call_signature=names)
            try:
                got = torch.export.unflatten(exported)()
            except Exception as error:
                print(type(error), str(error)[:200])
                return True
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
