"""A nested compile region that reads a global name, bound anew between two calls, must see the new value."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    want = 2.0 + 3.0
    names = {"torch": torch}
    text = (
        "factor = torch.full((2,), 2.0)\n@torch.compiler.nested_compile_region\ndef region(x):\n    return x * factor\n"
        "def run(x):\n    global factor\n    y = region(x)\n    factor = factor + 1\n    return y + region(x)\n"
    )
    exec(text, names)
    got = torch.compile(names["run"], backend="eager", fullgraph=True)(torch.ones(2))
    print(got)
    return got.tolist() != [want, want]


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
