"""Folding constants must leave alone what is computed from an attribute that is a module, as a choice of its parts."""

import sys


def bug():
    """Whether the bug is there."""
    import torch
    from torch.fx.experimental import const_fold

    def first(module):
        return module[0]

    def apply(module, x):
        return module(x)

    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    weight = graph.get_attr("weight")
    twice = graph.call_function(torch.add, (weight, weight))
    part = graph.call_function(first, (graph.get_attr("parts"),))
    graph.output(graph.call_function(torch.add, (graph.call_function(apply, (part, x)), twice)))
    root = torch.nn.Module()
    root.parts, root.weight = torch.nn.ModuleList([torch.nn.Tanh()]), torch.nn.Parameter(torch.ones(2))
    module = torch.fx.GraphModule(root, graph)
    want = module(torch.zeros(2))
    folded = const_fold.split_const_subgraphs(module)
    try:
        got = folded(torch.zeros(2))
    except AttributeError as error:
        print(type(error).__name__, str(error)[:200])
        return True
    print(want, got)
    return not torch.allclose(want, got)


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
