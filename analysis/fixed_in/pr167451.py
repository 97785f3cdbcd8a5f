"""Compiled sums, stored as eight-bit floats in an order other than that of the loop, must be those of eager mode."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    kind = torch.float8_e4m3fn

    def several(turned, rows):
        total = turned
        for one in rows:
            total = total + one
        return total.to(kind), (total * 2).to(kind), (total - 1).to(kind)

    torch.manual_seed(0)
    turned, rows = torch.randn(48, 64).t(), [torch.randn(64, 48) for _ in range(7)]
    want = several(turned, rows)
    try:
        got = torch.compile(several)(turned, rows)
    except Exception as error:
        print(type(error).__name__, str(error)[-300:])
        return True
    wrong = [(a.float() != b.float()).sum().item() for a, b in zip(want, got)]
    print(wrong, "of", want[0].numel(), [one.stride() for one in want + got])
    return max(wrong) > 0


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
