"""Folding constants must leave alone a tensor that is filled with a symbolic value."""

import sys


def bug():
    """Whether the bug is there."""
    import torch
    from torch.fx.experimental import const_fold
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    value = ShapeEnv().create_unbacked_symint().node.expr
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    filled = graph.call_function(torch.full, ((3,),), {"fill_value": value})
    weight = graph.get_attr("weight")
    twice = graph.call_function(torch.add, (weight, weight))
    graph.output(graph.call_function(torch.add, (graph.call_function(torch.add, (x, filled)), twice)))
    module = torch.fx.GraphModule({"weight": torch.ones(3)}, graph)
    folded = const_fold.split_const_subgraphs(module)
    kept = [node.target for node in folded.graph.nodes]
    try:
        folded.run_folding()
    except NameError as error:
        print(kept, type(error).__name__, str(error)[:200])
        return True
    print(kept)
    return torch.full not in kept


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
