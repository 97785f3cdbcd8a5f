"""Compiles a function whose globals belong to no module."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    names = {"torch": torch, "factor": 3.0}
    exec("def scaled(x):\n    return x * factor + helper(x)\ndef helper(x):\n    return x + factor\n", names)

    def run(x):
        return names["scaled"](x)

    try:
        got = torch.compile(names["scaled"], backend="eager", fullgraph=True)(torch.ones(1)).item()
        other = torch.compile(run, backend="eager", fullgraph=True)(torch.ones(1)).item()
        names["factor"] = 4.0
        changed = torch.compile(run, backend="eager", fullgraph=True)(torch.ones(1)).item()
    except Exception as error:
        print(type(error).__name__, str(error)[:300])
        return True
    print(got, other, changed)
    return (got, other, changed) != (7.0, 7.0, 9.0)


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
