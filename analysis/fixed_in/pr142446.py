"""Partitions of a graph by source, where two layers share their weight, must not take in the weight of the other."""

import sys


def bug():
    """Whether the bug is there."""
    import torch
    from torch.fx.passes.utils.source_matcher_utils import get_source_partitions

    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)
            self.two.weight = self.one.weight

        def forward(self, x):
            return self.two(self.one(x))

    graph = torch.export.export(Tied(), (torch.ones(2, 3),), strict=True).graph
    try:
        partitions = get_source_partitions(graph, [torch.nn.Linear, torch.nn.functional.linear])
    except Exception as error:
        print(type(error).__name__, str(error)[:200])
        return True
    found = [one for many in partitions.values() for one in many]
    print([[str(node) for node in one.output_nodes] for one in found])
    return len(found) != 2 or any(len(one.output_nodes) != 1 for one in found)


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
