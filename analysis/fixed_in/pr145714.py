"""Removing dead code from a traced graph must keep an assignment to a slice."""

import sys


def bug():
    """Whether the bug is there."""
    import operator

    import torch

    made = torch.fx.Graph()
    x = made.placeholder("x")
    y = made.call_function(operator.add, (x, 1))
    made.call_function(operator.setitem, (y, 0, 7.0))
    made.output(y)
    made.eliminate_dead_code()
    got = torch.fx.GraphModule(torch.nn.Module(), made)(torch.zeros(2))
    print(got)
    return got.tolist() != [7.0, 1.0]


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
