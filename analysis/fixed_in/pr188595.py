"""Calls a lazy module behind a graph break on a shape that is symbolic by then: it must be set up as in eager mode."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    def run(module, x):
        x = x + 1
        torch._dynamo.graph_break()
        return module(x)

    compiled = torch.compile(run, backend="eager")
    for columns in (4, 5, 6):
        module = torch.nn.LazyBatchNorm1d()
        x = torch.randn(3, columns)
        try:
            compiled(module, x)
        except Exception as error:
            print(columns, type(error), str(error)[:200])
            return True
        if module.running_mean.shape != (columns,):
            return True
    return False


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
