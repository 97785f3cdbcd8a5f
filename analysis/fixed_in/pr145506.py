"""Saves and loads an exported program that checks two conditions joined with `&`."""

import sys


def bug():
    """Whether the bug is there."""
    import io

    import torch

    class Checked(torch.nn.Module):
        def forward(self, x, n):
            at = n.item()
            torch._check((at > 2) & (at < 7))
            return x + at

    exported = torch.export.export(Checked(), (torch.ones(3), torch.tensor(4)), strict=False)
    if not any("and_" in str(node.target) for node in exported.graph.nodes):
        raise NotImplementedError("no `and_` in the graph")
    file = io.BytesIO()
    try:
        torch.export.save(exported, file)
        file.seek(0)
        got = torch.export.load(file).module()(torch.ones(3), torch.tensor(5))
    except Exception as error:
        print(type(error).__name__, str(error)[:200])
        return True
    print(got)
    return got.tolist() != [6.0] * 3


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
