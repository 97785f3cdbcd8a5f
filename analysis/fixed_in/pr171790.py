"""A quantized 3-d max pooling must refuse a dilation below one."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    x = torch.quantize_per_tensor(torch.rand(1, 2, 6, 6, 6), 0.1, 0, torch.quint8)
    for dilation in ([1, 1, -1], [1, -1, 1], [-1, 1, 1], [1, 1, 0]):
        try:
            got = torch.quantized_max_pool3d(x, [2, 2, 2], [1, 1, 1], [0, 0, 0], dilation, False)
        except RuntimeError as error:
            print(dilation, str(error)[:150])
            if "Could not run" in str(error):
                raise
            if "dilation" not in str(error):
                return True
        else:
            print(dilation, got.shape)
            return True
    return False


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
