"""Keyword arguments in another order than that of the signature, with other dynamic shapes, must be exported."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    class Add(torch.nn.Module):
        def forward(self, x, *, first, second):
            return x + first.sum() - second.sum()

    auto = torch.export.Dim("n", min=2, max=99)
    kwargs = {"second": torch.ones(3, 4), "first": torch.full((5,), 2.0)}
    shapes = {"x": None, "first": {0: auto}, "second": None}
    for strict in (False, True):
        try:
            exported = torch.export.export(Add(), (torch.zeros(1),), kwargs, dynamic_shapes=shapes, strict=strict)
            got = exported.module()(torch.zeros(1), first=torch.ones(7), second=torch.ones(3, 4)).item()
        except Exception as error:
            print(strict, type(error).__name__, str(error)[:200])
            return True
        if got != -5.0:
            return True
        ranges = list(exported.range_constraints.values())
        print(strict, ranges)
        if len(ranges) != 1 or ranges[0].upper != 99:
            return True
    return False


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
