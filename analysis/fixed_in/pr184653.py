"""Compiles a function of a module that is not among the known modules."""

import sys


def bug():
    """Whether the bug is there."""
    import types

    import torch

    made = types.ModuleType("not_registered_here")
    exec(
        "factor = 3.0\ndef scaled(x):\n    return x * factor + helper(x)\ndef helper(x):\n    return x + factor\n",
        made.__dict__,
    )

    def run(x):
        return made.scaled(x) + 1

    try:
        got = torch.compile(made.scaled, backend="eager", fullgraph=True)(torch.ones(1)).item()
        other = torch.compile(run, backend="eager", fullgraph=True)(torch.ones(1)).item()
        made.factor = 4.0
        changed = torch.compile(run, backend="eager", fullgraph=True)(torch.ones(1)).item()
    except Exception as error:
        print(type(error).__name__, str(error)[:300])
        return True
    print(got, other, changed)
    return (got, other, changed) != (7.0, 8.0, 10.0)


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
