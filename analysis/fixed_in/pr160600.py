"""Exports a module with two names for one parameter: the exported module must keep the names of the parameters."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.nn.Embedding(5, 3)
            self.head = torch.nn.Linear(3, 5, bias=False)
            self.head.weight = self.table.weight

        def forward(self, ids):
            return self.head(self.table(ids))

    module = Tied()
    exported = torch.export.export(module, (torch.tensor([1, 2]),), strict=True).module()
    want, got = ({name for name, _ in one.named_parameters()} for one in (module, exported))
    print(want, got)
    return want != got


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
