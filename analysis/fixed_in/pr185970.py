"""Compiled minimum and maximum must give what eager mode gives for NaN, infinities and zeros with a sign."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    values = torch.tensor([0.0, -0.0, 1.0, -1.0, float("inf"), float("-inf"), float("nan"), 2.5])
    wrong = []
    for kind in (torch.float32, torch.bfloat16):
        a, b = (one.reshape(-1).to(kind) for one in torch.meshgrid(values, values, indexing="ij"))
        for f in (torch.minimum, torch.maximum, torch.fmin, torch.fmax, torch.clamp_min, torch.clamp_max):
            torch._dynamo.reset()
            want, got = f(a, b), torch.compile(lambda a, b, f=f: f(a, b))(a, b)
            same = (want == got) & (want.signbit() == got.signbit()) | (want.isnan() & got.isnan())
            if not same.all():
                at = int((~same).nonzero()[0])
                wrong.append((f.__name__, str(kind), a[at].item(), b[at].item(), want[at].item(), got[at].item()))
    print(wrong)
    return bool(wrong)


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
