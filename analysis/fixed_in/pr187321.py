"""Compiled Bessel functions must give what eager mode gives, for NaN and infinities, too."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    x = torch.tensor([0.0, -0.0, 0.5, -0.5, 3.0, -7.0, 40.0, -500.0, float("inf"), float("-inf"), float("nan")])
    x = torch.cat((x, torch.linspace(-9, 9, 37)))
    special = torch.special
    names = "bessel_j0 bessel_j1 bessel_y0 bessel_y1 i0 i0e i1 i1e modified_bessel_i0 modified_bessel_i1 modified_bessel_k0".split()
    names += "modified_bessel_k1 scaled_modified_bessel_k0 scaled_modified_bessel_k1 spherical_bessel_j0".split()
    wrong = []
    for name in names:
        f = getattr(special, name)
        want, got = f(x), torch.compile(lambda x, f=f: f(x) * 1.0)(x)
        if not torch.allclose(want, got, atol=1e-5, equal_nan=True):
            at = int((~torch.isclose(want, got, atol=1e-5, equal_nan=True)).nonzero()[0])
            wrong.append((name, x[at].item(), want[at].item(), got[at].item()))
    print(wrong)
    return bool(wrong)


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
