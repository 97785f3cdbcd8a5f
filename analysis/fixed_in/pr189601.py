"""A custom operator that is defined in a traced function behind a nested graph break."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    def inner(x):
        torch._dynamo.graph_break()

        @torch.library.custom_op("fixed_in::late", mutates_args=())
        def late(y: torch.Tensor) -> torch.Tensor:
            return y * 2

        @late.register_fake
        def _(y):
            return torch.empty_like(y)

        return late(x) + 1

    def outer(x):
        return inner(x + 1) * 3

    try:
        with torch._dynamo.config.patch(nested_graph_breaks=True):
            got = torch.compile(outer, backend="eager")(torch.ones(2))
    except AttributeError:
        raise
    except Exception as error:
        print(type(error).__name__, str(error)[:300])
        return True
    print(got)
    return got.tolist() != [15.0, 15.0]


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
