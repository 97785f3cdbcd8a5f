"""Compiles negative padding ahead of time, with a dynamic size, and runs it."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    class Crop(torch.nn.Module):
        def forward(self, x):
            return torch.nn.functional.pad(x, (-1, -2, 0, -1)) + 1

    x = torch.arange(48.0).view(6, 8)
    exported = torch.export.export(Crop(), (x,), dynamic_shapes={"x": {0: torch.export.Dim("rows", min=3, max=64)}})
    try:
        path = torch._inductor.aoti_compile_and_package(exported)
        got = torch._inductor.aoti_load_package(path)(x)
    except Exception as error:
        print(type(error), str(error)[:300])
        return True
    return not torch.equal(got, x[:-1, 1:-2] + 1)


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
