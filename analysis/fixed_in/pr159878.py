"""Padding by nothing or by less keeps the strides of a transposed tensor: fake mode with symbolic sizes must say so."""

import sys


def bug():
    """Whether the bug is there."""
    import torch
    from torch._dispatch.python import enable_python_dispatcher
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    pad_of = torch.ops.aten.constant_pad_nd.default
    wrong = []
    for x in (torch.ones(5, 7).t(), torch.ones(6, 3, 4, 5).permute(3, 1, 0, 2)):
        for pad in ((0, 0), (-1, 0), (0, 0, -1, 0), (1, 1)):
            want = pad_of(x, pad)
            with FakeTensorMode(shape_env=ShapeEnv()) as mode, enable_python_dispatcher():
                fake = pad_of(mode.from_tensor(x), pad)
            shape, stride = tuple(map(int, fake.shape)), tuple(map(int, fake.stride()))
            if (shape, stride) != (tuple(want.shape), want.stride()):
                wrong.append((pad, want.stride(), stride))
    print(wrong)
    return bool(wrong)


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
