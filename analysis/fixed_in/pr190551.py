"""The C++ wrapper calls an operator in Python that returns a list of one tensor."""

import sys


def bug():
    """Whether the bug is there."""
    from typing import List

    import torch
    from torch._inductor import config

    @torch.library.custom_op("fixed_in::listed", mutates_args=())
    def listed(x: torch.Tensor) -> List[torch.Tensor]:
        return [x * 3]

    @listed.register_fake
    def _(x):
        return [torch.empty_like(x)]

    config.cpp_wrapper = True
    try:
        got = torch.compile(lambda x: listed(x + 1)[0] - 1)(torch.ones(4))
    except Exception as error:
        print(type(error).__name__, str(error)[-300:])
        return True
    return got.tolist() != [5.0] * 4


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
