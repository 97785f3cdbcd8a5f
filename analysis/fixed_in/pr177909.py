"""The program that Dynamo writes to show a graph again must run where repeat_interleave knows the size it gives."""

import sys


def bug():
    """Whether the bug is there."""
    import io

    import torch
    from torch._dynamo.debug_utils import InputReader
    from torch._dynamo.repro.after_aot import save_graph_repro

    graph = torch.fx.Graph()
    counts, size = graph.placeholder("counts"), graph.placeholder("size")
    repeated = torch.ops.aten.repeat_interleave.Tensor
    graph.output((graph.call_function(repeated, (counts,), {"output_size": size}),))
    module = torch.fx.GraphModule(torch.nn.Module(), graph)
    text = io.StringIO()
    save_graph_repro(text, module, [torch.tensor([1, 2, 3]), 6], "inductor", stable_output=True)
    space = {"__name__": "written"}
    exec(text.getvalue(), space)
    for seed in range(3):
        torch.manual_seed(seed)
        reader = InputReader(save_dir=None)
        space["load_args"](reader)
        try:
            (got,) = space["mod"](*reader.args)
        except RuntimeError as error:
            print(reader.args, str(error)[:200])
            return True
        print(reader.args, got)
    return False


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
