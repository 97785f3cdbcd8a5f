"""Exports isin with a dynamic number of test elements, by the sorting way and by the other, and decomposes it."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    class Among(torch.nn.Module):
        def forward(self, x, tests):
            return torch.isin(x, tests)

    auto = torch.export.Dim.AUTO
    for size, other in ((10, 12), (400, 500)):
        x, tests = torch.arange(8), torch.arange(0, 2 * size, 2)
        try:
            exported = torch.export.export(Among(), (x, tests), dynamic_shapes={"x": {0: auto}, "tests": {0: auto}})
            exported = exported.run_decompositions()
            tests = torch.arange(0, 2 * other, 2)
            got = exported.module()(x, tests)
        except Exception as error:
            print(size, type(error).__name__, str(error)[:300])
            return True
        if not torch.equal(got, torch.isin(x, tests)):
            print(size, got)
            return True
    return False


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
