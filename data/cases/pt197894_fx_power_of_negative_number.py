# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#197894"]
# relation = "same"
# bug_type = "logical"
# consequence = "silent_correctness"
# requires = ["cpu", "torch>=1.8"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Writes the call operator.pow(-2, x) into an fx graph and runs its module on 2. The result should be 4, as the
interpreter of fx says. Instead it is -4: the code of the module is -2 ** x, which Python reads as the negative of a
power."""

import operator
import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = -abs(observed)
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch
    import torch.fx

    graph = torch.fx.Graph()
    exponent = graph.placeholder("x")
    graph.output(graph.call_function(operator.pow, (-2, exponent)))
    module = torch.fx.GraphModule(torch.nn.Module(), graph)
    truth = 4
    if truth != (-2) ** 2 or torch.fx.Interpreter(module).run(2) != truth:
        return 125, "the workaround path fails too: the interpreter does not give 4"
    got = module(2)
    got = spoil(got)
    if got == truth:
        return 0, "the square of -2 is 4 in the module as well"
    return 1, "the square of -2 is %s in the module" % got


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
