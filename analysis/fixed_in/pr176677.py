"""Saves a program in which nothing uses the list of tensors that an operator with several results gives back."""

import sys


def bug():
    """Whether the bug is there."""
    import io
    from typing import List, Tuple

    import torch

    @torch.library.custom_op("fixed_in::both", mutates_args=())
    def both(x: torch.Tensor) -> Tuple[torch.Tensor, List[torch.Tensor]]:
        return x * 2, [x[:2].clone(), x[2:].clone()]

    @both.register_fake
    def _(x):
        return torch.empty_like(x), [torch.empty_like(x[:2]), torch.empty_like(x[2:])]

    class Marked(torch.nn.Module):
        def forward(self, x):
            y, _ = both(x)
            return y + 1

    exported = torch.export.export(Marked(), (torch.ones(4),))
    exported.graph.eliminate_dead_code()
    exported.graph_module.recompile()
    file = io.BytesIO()
    try:
        torch.export.save(exported, file)
        file.seek(0)
        got = torch.export.load(file).module()(torch.ones(4))
    except Exception as error:
        print(type(error).__name__, str(error)[:300])
        return True
    print(got)
    return got.tolist() != [3.0] * 4


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
