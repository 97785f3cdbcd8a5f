"""Floor division by a constant tensor of whole numbers, compiled ahead of time."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    class Divide(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.by = torch.tensor(3)

        def forward(self, x, n):
            return x // self.by, torch.div(n, torch.tensor(4), rounding_mode="floor")

    arguments = (torch.arange(-8, 8), torch.arange(16.0))
    want = Divide()(*arguments)
    exported = torch.export.export(Divide(), arguments, strict=False)
    try:
        path = torch._inductor.aoti_compile_and_package(exported)
        got = torch._inductor.aoti_load_package(path)(*arguments)
    except Exception as error:
        print(type(error), str(error)[-300:])
        return True
    return not all(torch.equal(a, b) for a, b in zip(want, got))


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
