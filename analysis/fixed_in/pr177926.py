"""Compiled floor division of numbers whose quotient rounds up to a whole number."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    a = torch.tensor([5.9, 0.3, 0.6, 0.7, 0.9, 4.9, -5.9, -0.3, -0.7, 1.1, 2.3])
    b = torch.tensor([0.1, 0.1, 0.2, 0.1, 0.3, 0.7, 0.1, 0.1, 0.1, 0.1, 0.1])
    wrong = []
    for kind in (torch.float32, torch.float64):
        for f in (torch.floor_divide, lambda a, b: torch.div(a, b, rounding_mode="floor"), lambda a, b: a // 0.1):
            torch._dynamo.reset()
            x, y = a.to(kind), b.to(kind)
            want, got = f(x, y), torch.compile(f)(x, y)
            if not torch.equal(want, got):
                wrong.append((str(kind), want.tolist(), got.tolist()))
    print(wrong)
    return bool(wrong)


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
