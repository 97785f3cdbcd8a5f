"""Saves and loads an exported program that joins two symbolic conditions with `&`."""

import sys


def bug():
    """Whether the bug is there."""
    import io

    import torch

    class Both(torch.nn.Module):
        def forward(self, x, n):
            at = n.item()
            torch._check_is_size(at)
            both = (x.shape[0] > 3) & (x.shape[1] > 3)
            return x + 1, torch.sym_not(both), (at > 2) & (at < 7)

    dim = torch.export.Dim
    exported = torch.export.export(
        Both(), (torch.ones(5, 5), torch.tensor(4)), dynamic_shapes={"x": {0: dim("a"), 1: dim("b")}, "n": None}, strict=False
    )
    if not any("and_" in str(node.target) for node in exported.graph.nodes):
        raise NotImplementedError("no `and_` in the graph")
    file = io.BytesIO()
    try:
        torch.export.save(exported, file)
        file.seek(0)
        torch.export.load(file)
    except Exception as error:
        print(type(error), str(error)[:200])
        return True
    return False


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
