"""Quantizes per channel to qint32 with float scales: the process must live."""

import sys


def bug():
    """Whether the bug is there."""
    import os

    import torch

    child = os.fork()
    if not child:
        try:
            scale, zero = torch.full((3,), 0.5), torch.zeros(3)
            torch.quantize_per_channel(torch.ones(3, 4), scale, zero, 0, torch.qint32)
        except RuntimeError as error:
            print(str(error)[:100], flush=True)
            os._exit(0)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    print("ended with", status)
    return os.WIFSIGNALED(status)


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
