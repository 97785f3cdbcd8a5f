"""Asking an exported program for its module must leave the program's own signature as it was."""

import sys


def bug():
    """Whether the bug is there."""
    import copy

    import torch

    class Counts(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("seen", torch.zeros(1))
            self.linear = torch.nn.Linear(3, 3)

        def forward(self, x, unused):
            self.seen.add_(1)
            return self.linear(x) + self.seen

    exported = torch.export.export(Counts(), (torch.ones(2, 3), torch.ones(1)))
    before = copy.deepcopy((exported.graph_signature.input_specs, exported.graph_signature.output_specs))
    for check in ({}, {"check_guards": False}):
        try:
            exported.module(**check)
        except TypeError:
            continue
    after = (exported.graph_signature.input_specs, exported.graph_signature.output_specs)
    print(len(before[0]), len(after[0]))
    return before != after


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
