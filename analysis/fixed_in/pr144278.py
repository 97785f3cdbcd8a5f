"""Keyword arguments in another order than that of the signature, exported without dynamo."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    class Differ(torch.nn.Module):
        def forward(self, x, *, first, second, third=None):
            return x + first - second * 2

    x = torch.zeros(1)
    kwargs = {"second": torch.ones(1), "first": torch.full((1,), 5.0)}
    exported = torch.export.export(Differ(), (x,), kwargs, strict=False)
    names = [node.name for node in exported.graph.nodes if node.op == "placeholder"]
    got = exported.module()(x, **kwargs).item()
    other = exported.module()(x, first=kwargs["first"], second=kwargs["second"]).item()
    users = exported.graph_signature.user_inputs
    print(names, users, got, other)
    minus = [node for node in exported.graph.nodes if "mul" in str(node.target)][0]
    return (got, other) != (3.0, 3.0) or str(minus.args[0]) != "second"


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
