"""Strides of Fourier transforms on the meta device must be those of the CPU."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    x = torch.randn(4, 6, 8)
    turned = x.permute(2, 0, 1)
    wrong = []
    for name in ["fft", "ifft", "rfft", "ihfft", "hfft", "irfft", "fft2", "rfft2", "irfft2", "fftn", "rfftn", "irfftn"]:
        for one in (
            x,
            turned,
            turned.to(torch.complex64) if name not in ("rfft", "ihfft", "rfft2", "rfftn") else x[::2],
        ):
            for options in ({}, {"dim": (0, 1)} if name[-1] in "2n" else {"dim": 0}):
                f = getattr(torch.fft, name)
                want = f(one, **options).stride()
                try:
                    meta = f(one.to("meta"), **options).stride()
                except RuntimeError as error:
                    meta = str(error)[:60]
                if want != meta:
                    wrong.append((name, one.stride(), options, want, meta))
    print(len(wrong), sorted({one[0] for one in wrong}), wrong[:2])
    return bool(wrong)


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
