"""A graph break at the start of a comprehension of a called function, under nested graph breaks (Python < 3.12)."""

import sys


def bug():
    """Whether the bug is there."""
    import sys

    import torch

    if sys.version_info >= (3, 12):
        raise NotImplementedError("comprehensions have no frame of their own")

    def inner(x):
        x = x + 3
        several = [torch._dynamo.step_unsupported() or x * by for by in range(3)]
        return x + several[2]

    def outer(x):
        return inner(x + 1) * 6

    step = torch._dynamo.step_unsupported
    torch._dynamo.step_unsupported = lambda: None
    want = outer(torch.ones(2))
    torch._dynamo.step_unsupported = step
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
