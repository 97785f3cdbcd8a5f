"""A graph that gives one tensor, wrapped so that it gives a tuple, must give a tuple when it is called."""

import sys


def bug():
    """Whether the bug is there."""
    import torch
    from torch._inductor.compile_fx import make_graph_return_tuple

    seen = []

    def compiler(module, inputs, **_):
        seen.append(module(*inputs))
        return module

    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_function(torch.sin, (x,)))
    module = torch.fx.GraphModule(torch.nn.Module(), graph)
    make_graph_return_tuple(module, [torch.ones(2)], compiler)
    print(type(seen[0]))
    return not isinstance(seen[0], (tuple, list))


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
