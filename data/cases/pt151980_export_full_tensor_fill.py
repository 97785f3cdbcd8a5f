# /// script
# dependencies = ["torch"]
# [tool.embers]
# kind = "closing"
# issues = ["pytorch/pytorch#151980"]
# relation = "same"
# bug_type = "logical"
# consequence = "runtime_error"
# requires = ["cpu", "torch>=2.1"]
# known_bad = ["2.4.1", "2.5.1", "2.6.0"]
# fixed_in = "2.7.1"
# signature = "InternalTorchDynamoError"
# oracle = "self"
# ///
"""Exports a module that fills a matrix with the value of a zero-dimensional tensor. It should be traced like any other
module, and give the value of a later input. Instead tracing ends with an internal error about pending unbacked symbols
that no output holds."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        raise RuntimeError("Pending unbacked symbols {zuf0} not in returned outputs")
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    class Full(torch.nn.Module):
        def forward(self, x):
            return torch.full((3, 3), x)

    class Scaled(torch.nn.Module):
        def forward(self, x):
            return torch.ones(3, 3) * x

    def exported(module, given, later):
        program = torch.export.export(module, (given,))
        runs = program.module() if callable(getattr(program, "module", None)) else program
        return runs(later)

    first, later = torch.tensor(5.0), torch.tensor(7.0)
    scaled = exported(Scaled(), first, later)
    if scaled.tolist() != [[7.0] * 3] * 3:
        return 125, "the workaround path fails too: ones times the tensor give %s" % scaled.tolist()
    try:
        got = exported(Full(), first, later)
        got = spoil(got)
    except Exception as error:
        if "ending unbacked symbols" not in str(error):
            raise
        return 1, "torch.full with a tensor cannot be exported: %s" % str(error).splitlines()[0][:100]
    if got.tolist() == [[7.0] * 3] * 3:
        return 0, "the exported module fills with the value of a later input"
    return 125, "another failure: no exception, but the exported module gives %s" % got.tolist()


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
