"""Exports isin with a dynamic number of test elements and decomposes it."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    class Among(torch.nn.Module):
        def forward(self, x, tests):
            return torch.isin(x, tests)

    n, m = torch.export.Dim("n", min=2, max=64), torch.export.Dim("m", min=2, max=512)
    x, tests = torch.arange(8), torch.arange(0, 20, 2)
    try:
        exported = torch.export.export(Among(), (x, tests), dynamic_shapes={"x": {0: n}, "tests": {0: m}})
        exported = exported.run_decompositions(torch._decomp.get_decompositions([torch.ops.aten.isin]))
        for size in (5, 400):
            tests = torch.arange(0, 2 * size, 2)
            if not torch.equal(exported.module()(x, tests), torch.isin(x, tests)):
                return True
    except Exception as error:
        print(type(error).__name__, str(error)[:300])
        return True
    return False


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
