"""A device context inside a checkpoint, or a default device that is taken back, must leave no mode behind."""

import sys


def bug():
    """Whether the bug is there."""
    import torch
    from torch.utils._device import CURRENT_DEVICE
    from torch.utils.checkpoint import checkpoint

    def depth():
        return torch._C._len_torch_function_stack()

    def inner(x):
        with torch.device("meta"):
            torch.ones(2)
        return x.sin().exp()

    before = depth()
    x = torch.ones(2, requires_grad=True)
    for _ in range(2):
        with torch.device("cpu"):
            out = checkpoint(inner, x, use_reentrant=False)
        out.sum().backward()
    first = depth()
    torch.set_default_device("cpu")
    with torch.device("meta"):
        torch.set_default_device("cpu")
    torch.set_default_device(None)
    print(before, first, depth(), CURRENT_DEVICE)
    return depth() != before or first != before


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
