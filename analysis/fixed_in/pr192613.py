"""The slope of log10 and log2 at 1 in double precision must be the nearest number to 1/ln 10 and 1/ln 2."""

import sys


def bug():
    """Whether the bug is there."""
    import math

    import torch

    found = []
    for f, base in ((torch.log10, 10), (torch.log2, 2)):
        x = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
        f(x).backward()
        found.append((x.grad.item(), 1 / math.log(base)))
    print(found)
    return any(got != want for got, want in found)


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
