"""Constant folding of a graph with an attribute that is a module must leave the module alone."""

import sys


def bug():
    """Whether the bug is there."""
    import torch
    from torch.fx.experimental import const_fold

    def apply(module, x):
        return module(x)

    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    branch, weight = graph.get_attr("branch"), graph.get_attr("weight")
    called = graph.call_function(apply, (branch, weight))
    graph.output(graph.call_function(torch.add, (graph.call_function(apply, (branch, x)), called)))
    root = torch.nn.Module()
    root.branch, root.weight = torch.nn.Tanh(), torch.nn.Parameter(torch.ones(2))
    module = torch.fx.GraphModule(root, graph)
    want = module(torch.zeros(2))
    try:
        folded = const_fold.split_const_subgraphs(module)
        got = folded(torch.zeros(2))
    except Exception as error:
        print(type(error).__name__, str(error)[:200])
        return True
    return not torch.allclose(want, got)


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
