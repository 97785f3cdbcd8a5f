"""Second derivative of max pooling under vmap for channels-last inputs."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    def curved(x):
        return torch.nn.functional.max_pool2d(x.square(), 2).square().sum()

    def second(x):
        return torch.func.grad(lambda x: torch.func.grad(curved)(x).square().sum())(x)

    batch = torch.randn(3, 2, 4, 4, 4)
    want = torch.stack([second(one) for one in batch])
    for each in (batch, batch.permute(0, 1, 3, 4, 2).contiguous().permute(0, 1, 4, 2, 3)):
        try:
            got = torch.vmap(second)(each)
        except RuntimeError as error:
            print(str(error)[:150])
            return True
        if not torch.allclose(want, got, rtol=1e-4, atol=1e-4):
            return True
    return False


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
