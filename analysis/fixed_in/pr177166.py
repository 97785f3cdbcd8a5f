"""Compiles replication padding with gradients in deterministic mode."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    torch.use_deterministic_algorithms(True)

    def padded(x):
        return torch.nn.functional.pad(x, (1, 2, 2, 1), mode="replicate")

    x = torch.randn(1, 2, 4, 4, requires_grad=True)
    padded(x).square().sum().backward()
    want, x.grad = x.grad, None
    try:
        torch.compile(padded, fullgraph=False)(x).square().sum().backward()
    except Exception as error:
        print(type(error), str(error)[:300])
        return True
    return not torch.allclose(want, x.grad)


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
