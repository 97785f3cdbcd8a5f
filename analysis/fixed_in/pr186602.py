"""max_unpool2d and max_unpool3d under the decompositions of inductor must have the strides of eager mode."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    wrong = []
    for dims in (2, 3):
        last = torch.channels_last if dims == 2 else torch.channels_last_3d
        pool = getattr(torch.nn.functional, "max_pool%dd" % dims)
        unpool = getattr(torch.nn.functional, "max_unpool%dd" % dims)
        x, at = pool(torch.randn(2, 3, *[4] * dims), 2, return_indices=True)
        for layout in (torch.contiguous_format, last):
            for other in (torch.contiguous_format, last):
                torch._dynamo.reset()
                a, b = x.contiguous(memory_format=layout), at.contiguous(memory_format=other)
                want = unpool(a, b, 2)
                got = torch.compile(lambda a, b, f=unpool: f(a, b, 2), backend="aot_eager_decomp_partition")(a, b)
                if want.stride() != got.stride():
                    wrong.append((dims, layout, other, want.stride(), got.stride()))
    print(wrong)
    return bool(wrong)


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
