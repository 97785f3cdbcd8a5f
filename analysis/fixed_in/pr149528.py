"""Exports keyword arguments in another order than that of the signature, each with another dynamic dimension."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    class Add(torch.nn.Module):
        def forward(self, x, *, first, second):
            return x + first.sum() - second.sum()

    rows = torch.export.Dim("rows", min=2, max=77)
    columns = torch.export.Dim("columns", min=3, max=99)
    kwargs = {"second": torch.ones(3, 4), "first": torch.full((5, 6), 2.0)}
    shapes = {"x": None, "first": {0: rows}, "second": {1: columns}}
    try:
        exported = torch.export.export(Add(), (torch.zeros(1),), kwargs, dynamic_shapes=shapes, strict=False)
        got = exported.module()(torch.zeros(1), second=torch.ones(3, 9), first=torch.ones(7, 6)).item()
    except Exception as error:
        print(type(error).__name__, str(error)[:300])
        return True
    bounds = sorted((one.lower, one.upper) for one in exported.range_constraints.values())
    print(got, bounds)
    return got != 15.0 or bounds != [(2, 77), (3, 99)]


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
