"""Compiled max_unpool2d must give a channels-last result where eager mode does."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    def unpool(x, at):
        return torch.nn.functional.max_unpool2d(x, at, 2)

    x = torch.randn(2, 3, 8, 8).contiguous(memory_format=torch.channels_last)
    x, at = torch.nn.functional.max_pool2d(x, 2, return_indices=True)
    want, got = unpool(x, at), torch.compile(unpool, backend="aot_eager_decomp_partition")(x, at)
    print(want.stride(), got.stride())
    return want.stride() != got.stride() or not torch.equal(want, got)


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
