"""Strict export of a module that reaches its parts by self._modules must know the part in its metadata."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    class Reach(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.part = torch.nn.Linear(2, 2)
            self.many = torch.nn.ModuleDict({"a": torch.nn.Linear(2, 2)})

        def forward(self, x):
            for one in self.many._modules.values():
                x = one(x)
            return self._modules["part"](x)

    try:
        exported = torch.export.export(Reach(), (torch.ones(1, 2),), strict=True)
    except Exception as error:
        print(type(error).__name__, str(error)[:200])
        return True
    stacks = [
        [path for path, _ in node.meta["nn_module_stack"].values()]
        for node in exported.graph.nodes
        if node.op == "call_function"
    ]
    print(stacks)
    return [stack[-1] for stack in stacks] != ["many.a", "part"]


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
