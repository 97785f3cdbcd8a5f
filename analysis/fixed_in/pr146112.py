"""Saves and loads an exported program that computes with a symbolic float."""

import sys


def bug():
    """Whether the bug is there."""
    import io

    import torch

    class Ratio(torch.nn.Module):
        def forward(self, x, f):
            y = f.item()
            return x * (x.shape[0] / 2), y * 2.0 + 1.5, torch.sym_float(x.shape[0]) * y

    exported = torch.export.export(
        Ratio(),
        (torch.ones(4, 2), torch.tensor(2.5)),
        dynamic_shapes={"x": {0: torch.export.Dim("n")}, "f": None},
        strict=False,
    )
    file = io.BytesIO()
    try:
        torch.export.save(exported, file)
        file.seek(0)
        got = torch.export.load(file).module()(torch.ones(6, 2), torch.tensor(0.5))
    except Exception as error:
        print(type(error), str(error)[:300])
        return True
    print(got)
    return got[0][0, 0].item() != 3.0 or float(got[1]) != 2.5 or float(got[2]) != 3.0


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
