"""norm_type=0 of Lp pooling must be refused with a ValueError, not end in a division by zero."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    try:
        torch.nn.functional.lp_pool1d(torch.ones(1, 1, 4), norm_type=0, kernel_size=2)
    except ZeroDivisionError:
        return True
    except ValueError:
        return False
    return True


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
