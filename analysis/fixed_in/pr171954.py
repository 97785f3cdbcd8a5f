"""Names of an exported program's nodes must be the same after it is saved and loaded."""

import sys


def bug():
    """Whether the bug is there."""
    import io

    import torch

    class Several(torch.nn.Module):
        def forward(self, x):
            first, second = torch.topk(x, 2)
            parts = torch.split(x * 2, 2)
            value, at = x.max(0)
            return first + parts[1], second, value + parts[0].sum(), at

    exported = torch.export.export(Several(), (torch.arange(4.0),), strict=False).run_decompositions()
    file = io.BytesIO()
    torch.export.save(exported, file)
    file.seek(0)
    names = [[node.name for node in one.graph.nodes] for one in (exported, torch.export.load(file))]
    print([pair for pair in zip(*names) if pair[0] != pair[1]])
    return names[0] != names[1]


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
