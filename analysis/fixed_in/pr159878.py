"""Strides of a padded channels-last tensor on the meta device and in fake mode must be those of the CPU."""

import sys


def bug():
    """Whether the bug is there."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    x = torch.ones(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
    wrong = []
    for pad in ((1, 1), (0, 0), (-1, 2, 0, 1), (0, -1), (1, 1, 1, 1, 1, 0)):
        want = torch.nn.functional.pad(x, pad)
        meta = torch.nn.functional.pad(x.to("meta"), pad)
        with FakeTensorMode() as mode:
            fake = torch.nn.functional.pad(mode.from_tensor(x), pad)
        if not want.stride() == meta.stride() == fake.stride() or not want.shape == meta.shape == fake.shape:
            wrong.append((pad, want.stride(), meta.stride(), fake.stride()))
    print(wrong)
    return bool(wrong)


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
