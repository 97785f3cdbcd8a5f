"""Decomposes an exported isin whose number of elements depends on data."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    class Among(torch.nn.Module):
        def forward(self, x, tests):
            return torch.isin(x[x > 2], tests)

    class Tests(torch.nn.Module):
        def forward(self, x, tests):
            return torch.isin(x, tests[tests > 2])

    x, tests = torch.arange(8), torch.arange(0, 40, 2)
    for module in (Among(), Tests()):
        exported = torch.export.export(module, (x, tests), strict=False)
        try:
            got = exported.run_decompositions().module()(x, tests)
        except Exception as error:
            print(type(module).__name__, type(error).__name__, str(error)[:300])
            return True
        if not torch.equal(got, module(x, tests)):
            print(got)
            return True
    return False


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
