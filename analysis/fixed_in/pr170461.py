"""Asking a program with effects for its module must leave the signature of the program as it was."""

import sys


def bug():
    """Whether the bug is there."""
    import copy

    import torch

    class Says(torch.nn.Module):
        def forward(self, x):
            torch.ops.aten._print("here")
            return x * 2

    exported = torch.export.export(Says(), (torch.ones(2),)).run_decompositions()
    before = copy.deepcopy((exported.graph_signature.input_specs, exported.graph_signature.output_specs))
    exported.module()
    after = (exported.graph_signature.input_specs, exported.graph_signature.output_specs)
    print([one.kind.name for one in before[0]], [one.kind.name for one in after[0]])
    return before != after


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
