"""A sum of three symbolic sizes, made while tracing is off, must reach the traced graph with all three."""

import sys


def bug():
    """Whether the bug is there."""
    import torch
    from torch.fx.experimental.proxy_tensor import disable_proxy_modes_tracing, make_fx

    def joined(a, b, c):
        with disable_proxy_modes_tracing():
            n = a.shape[0] + b.shape[0] + c.shape[0]
        return a.new_ones(n)

    sizes = [torch.ones(n) for n in (3, 4, 5)]
    try:
        graph = make_fx(joined, tracing_mode="symbolic")(*sizes)
        got = graph(torch.ones(6), torch.ones(7), torch.ones(9))
    except Exception as error:
        print(type(error).__name__, str(error)[:200])
        return True
    print(tuple(got.shape), graph.code)
    return tuple(got.shape) != (22,)


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
