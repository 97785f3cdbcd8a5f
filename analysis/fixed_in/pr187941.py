"""Compiled floor division must be that of eager mode: signs, infinities, zeros, and numbers that do not divide evenly."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    values = torch.tensor([0.0, -0.0, 1.0, -1.0, 0.3, -0.3, 6.0, 7.5, -7.5, float("inf"), float("-inf"), float("nan"), 1e-40, 3e38])
    wrong = []
    for kind in (torch.float32, torch.float64, torch.bfloat16):
        a, b = (one.reshape(-1).to(kind) for one in torch.meshgrid(values, values, indexing="ij"))
        for name, f in (
            ("floor_divide", torch.floor_divide),
            ("floor", lambda a, b: torch.div(a, b, rounding_mode="floor")),
            ("trunc", lambda a, b: torch.div(a, b, rounding_mode="trunc")),
        ):
            torch._dynamo.reset()
            want, got = f(a, b), torch.compile(f)(a, b)
            same = (want == got) & (want.signbit() == got.signbit()) | (want.isnan() & got.isnan())
            if not same.all():
                at = int((~same).nonzero()[0])
                wrong.append((str(kind), name, int((~same).sum()), a[at].item(), b[at].item(), want[at].item(), got[at].item()))
    print(wrong)
    return bool(wrong)


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
