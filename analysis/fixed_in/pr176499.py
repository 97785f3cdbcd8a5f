"""torch.compiler.is_exporting() must be False in code under torch.compile."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    def ask(x):
        return x + (1 if torch.compiler.is_exporting() else 2)

    got = torch.compile(ask, backend="eager", fullgraph=True)(torch.zeros(1)).item()
    print(got)
    return got != 2.0


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
