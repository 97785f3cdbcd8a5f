"""Saves an exported program with an operator whose list of tensors nobody uses."""

import sys


def bug():
    """Whether the bug is there."""
    import io
    from typing import List

    import torch

    @torch.library.custom_op("fixed_in::split_and_mark", mutates_args=("x",))
    def split_and_mark(x: torch.Tensor) -> List[torch.Tensor]:
        x.add_(1)
        return [x[:2].clone(), x[2:].clone()]

    @split_and_mark.register_fake
    def _(x):
        return [torch.empty_like(x[:2]), torch.empty_like(x[2:])]

    class Marked(torch.nn.Module):
        def forward(self, x):
            y = x * 2
            split_and_mark(y)
            return y

    exported = torch.export.export(Marked(), (torch.ones(4),))
    file = io.BytesIO()
    try:
        torch.export.save(exported, file)
        file.seek(0)
        got = torch.export.load(file).module()(torch.ones(4))
    except Exception as error:
        print(type(error), str(error)[:300])
        return True
    return got.tolist() != [3.0] * 4


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
