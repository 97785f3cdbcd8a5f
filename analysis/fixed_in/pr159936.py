"""Adaptive max pooling of 65,536 numbers in half precision must give the place of the largest."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    for kind in (torch.float16, torch.bfloat16, torch.float32):
        x = torch.zeros(1, 1, 65536, dtype=kind)
        x[0, 0, 40001] = 1
        value, at = torch.nn.functional.adaptive_max_pool1d(x, 1, return_indices=True)
        last = x.flip(-1)
        also = torch.nn.functional.adaptive_max_pool1d(last, 1, return_indices=True)[1]
        print(kind, at.item(), also.item())
        if (at.item(), also.item()) != (40001, 65535 - 40001):
            return True
    return False


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
