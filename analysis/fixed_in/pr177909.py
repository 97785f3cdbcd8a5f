"""A graph of repeat_interleave with a tensor of counts, traced with symbolic sizes, must run."""

import sys


def bug():
    """Whether the bug is there."""
    import torch
    from torch.fx.experimental.proxy_tensor import make_fx

    def repeated(x, counts):
        return torch.repeat_interleave(x, counts, dim=0) * 2

    x, counts = torch.arange(3.0), torch.tensor([1, 2, 3])
    graph = make_fx(repeated, tracing_mode="symbolic", _allow_non_fake_inputs=True)(x, counts)
    try:
        got = graph(x, torch.tensor([2, 0, 1]))
    except Exception as error:
        print(type(error).__name__, str(error)[:300])
        return True
    return not torch.equal(got, repeated(x, torch.tensor([2, 0, 1])))


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
