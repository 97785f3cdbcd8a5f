"""A compiled function decorated with no_grad inside the region, which breaks the graph, must leave gradients on."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    def outer(x):
        @torch.no_grad()
        def fixed(y):
            y = y + 1
            torch._dynamo.graph_break()
            return y * 3

        first = fixed(x)
        second = x * 2
        return first, second, torch.is_grad_enabled()

    x = torch.ones(2, requires_grad=True)
    want = outer(x)
    try:
        with torch._dynamo.config.patch(nested_graph_breaks=True):
            got = torch.compile(outer, backend="eager")(x)
    except AttributeError:
        raise
    except Exception as error:
        print(type(error).__name__, str(error)[:300])
        return True
    finally:
        torch.set_grad_enabled(True)
    said = [[one[0].requires_grad, one[1].requires_grad, one[2]] for one in (want, got)]
    print(said)
    return said[0] != said[1] or not all(torch.equal(a, b) for a, b in zip(want[:2], got[:2]))


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
