"""A custom operator that changes one argument and returns another tensor, compiled with the C++ wrapper."""

import sys


def bug():
    """Whether the bug is there."""
    import torch
    from torch._inductor import config

    @torch.library.custom_op("fixed_in::mark", mutates_args=("x",))
    def mark(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        return y * 3

    @mark.register_fake
    def _(x, y):
        return torch.empty_like(y)

    def run(x, y):
        x = x * 2
        z = mark(x, y)
        return x + 1, z - 1, z + x

    config.cpp_wrapper = True
    x, y = torch.arange(4.0), torch.arange(4.0) + 10
    want = run(x, y)
    try:
        got = torch.compile(run)(x, y)
    except Exception as error:
        print(type(error), str(error)[-300:])
        return True
    print(want, got)
    return not all(torch.equal(a, b) for a, b in zip(want, got))


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
