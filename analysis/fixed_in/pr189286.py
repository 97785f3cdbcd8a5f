"""A checkpoint under a default device, and a default device that is taken back, must leave no mode behind."""

import sys


def bug():
    """Whether the bug is there."""
    import torch
    from torch.utils.checkpoint import checkpoint

    depth = torch._C._len_torch_function_stack
    before = depth()
    torch.set_default_device("cpu")
    under = depth()
    x = torch.ones(2, requires_grad=True)
    with torch.device("cpu"):
        out = checkpoint(lambda x: x.sin().exp(), x, use_reentrant=False)
    out.sum().backward()
    first = depth()
    for _ in range(2):
        checkpoint(lambda x: x.sin() * torch.ones(2), x, use_reentrant=False).sum().backward()
    second = depth()
    torch.set_default_device(None)
    third = depth()
    torch.set_default_device("cpu")
    torch.set_default_device("cpu")
    torch.set_default_device(None)
    print(before, under, first, second, third, depth())
    return (first, second, third, depth()) != (under, under, before, before)


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
