"""Compiled floor division of numbers whose quotient rounds up to a whole number."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    def divided(a, b):
        return torch.floor_divide(a, b), torch.div(a, b, rounding_mode="floor"), a // 0.1

    a = torch.tensor([5.9, 0.3, 0.6, 0.7, 0.9, 4.9, -5.9, -0.3, -0.7, 1.1, 2.3] * 3)
    b = torch.tensor([0.1, 0.1, 0.2, 0.1, 0.3, 0.7, 0.1, 0.1, 0.1, 0.1, 0.1] * 3)
    want, got = divided(a, b), torch.compile(divided)(a, b)
    wrong = [(x[:11].tolist(), y[:11].tolist()) for x, y in zip(want, got) if not torch.equal(x, y)]
    print(wrong)
    return bool(wrong)


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
