"""Decomposing an exported program must leave the program's state as it was."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    class Parts(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.one = torch.nn.Linear(3, 3)
            self.norm = torch.nn.BatchNorm1d(3)
            self.two = self.one

        def forward(self, x):
            return self.two(self.norm(self.one(x)))

    exported = torch.export.export(Parts().eval(), (torch.ones(2, 3),))
    before = {name: (id(one), one.data_ptr(), type(one)) for name, one in exported.state_dict.items()}
    exported.run_decompositions()
    after = {name: (id(one), one.data_ptr(), type(one)) for name, one in exported.state_dict.items()}
    print([name for name in before if before[name] != after.get(name)], list(after)[: len(before) + 3])
    return before != after


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
