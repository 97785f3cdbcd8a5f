"""A graph break in what a comprehension calls, under nested graph breaks (matters before Python 3.12)."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    def leaf(y, by):
        y = y + 1
        torch._dynamo.graph_break()
        return y * by

    def inner(x):
        first = [leaf(x * one, 2) for one in range(3)]
        return sum(first) + sum(leaf(y, 3) for y in first)

    def outer(x):
        return inner(x + 1) * 3

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
