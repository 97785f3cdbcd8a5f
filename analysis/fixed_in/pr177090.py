"""A function decorated inside the compiled region, with a graph break inside it, under nested graph breaks."""

import sys


def bug():
    """Whether the bug is there."""
    import functools

    import torch

    def more(f):
        @functools.wraps(f)
        def wrapper(*arguments):
            return f(*arguments) + 1

        return wrapper

    def outer(x):
        scale = 3

        @more
        def inner(y):
            torch._dynamo.graph_break()
            return y * scale

        @torch.no_grad()
        def other(y):
            torch._dynamo.graph_break()
            return y - 1

        return other(inner(x + 1)) * 2

    want = outer(torch.ones(2))
    try:
        with torch._dynamo.config.patch(nested_graph_breaks=True):
            got = torch.compile(outer, backend="eager")(torch.ones(2))
    except AttributeError:
        raise
    except Exception as error:
        print(type(error).__name__, str(error)[:300])
        return True
    print(want, got)
    return not torch.equal(want, got)


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
