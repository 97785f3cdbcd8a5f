"""A third derivative of layer_norm must be refused or be right, not silently wrong."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    torch.manual_seed(0)
    x = torch.randn(2, 4, dtype=torch.float64, requires_grad=True)

    def by_hand(x):
        centred = x - x.mean(-1, keepdim=True)
        return centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt()

    def third(f):
        value = (f(x) ** 3).sum()
        for _ in range(3):
            value = torch.autograd.grad(value, x, create_graph=True)[0].square().sum()
        return value.item()

    want = third(by_hand)
    try:
        got = third(lambda x: torch.nn.functional.layer_norm(x, (4,)))
    except RuntimeError as error:
        print(str(error)[:150])
        return False
    print(want, got)
    return abs(got / want - 1) > 1e-6


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
