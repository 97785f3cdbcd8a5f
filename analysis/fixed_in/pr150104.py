"""Exports y[0, n] where n comes from item(): an index of several dimensions must take a symbolic integer."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    class Pick(torch.nn.Module):
        def forward(self, n, y):
            at = n.item()
            torch._check(at >= 0)
            torch._check(at < y.shape[0])
            return y[0, at]

    table = torch.arange(36.0).view(6, 6)
    try:
        exported = torch.export.export(Pick(), (torch.tensor(2), table), strict=False)
    except IndexError as error:
        print(error)
        return True
    return exported.module()(torch.tensor(3), table).item() != 3.0


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
