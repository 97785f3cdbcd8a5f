"""A checkpoint recomputed while its device context is active must not bring the context back after its end."""

import sys


def bug():
    """Whether the bug is there."""
    import torch
    from torch.utils._device import DeviceContext
    from torch.utils.checkpoint import checkpoint

    depth = torch._C._len_torch_function_stack
    before = depth()
    x = torch.ones(2, requires_grad=True)
    with DeviceContext(torch.device("meta")):
        out = checkpoint(lambda x: x.sin().exp(), x, use_reentrant=False)
        _ = out.grad_fn._saved_result
    print(before, depth(), torch.empty(1).device)
    return depth() != before or torch.empty(1).device.type != "cpu"


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
