"""Decomposing a program with a parameter of a tensor subclass must leave the program's own state as it was."""

import sys


def bug():
    """Whether the bug is there."""
    import torch
    from torch.testing._internal.custom_tensor import CustomTensorPlainOut

    class Sum(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.plain = torch.nn.Parameter(torch.ones(2))
            self.pair = torch.nn.Parameter(CustomTensorPlainOut(torch.ones(2), torch.ones(2)))

        def forward(self, x):
            return x + (self.plain * 2 + self.pair).sum()

    exported = torch.export.export(Sum(), (torch.zeros(2),), strict=False)
    before = list(exported.state_dict)
    exported.run_decompositions()
    after = list(exported.state_dict)
    print(before, after)
    return before != after


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
