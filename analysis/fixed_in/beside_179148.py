"""Two functions with the same code and different closures, both nested compile regions, must both be run."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    def make(factor):
        @torch.compiler.nested_compile_region
        def scaled(x):
            return x * factor

        return scaled

    two, three = make(2.0), make(3.0)

    def run(x):
        return two(x) + three(x)

    got = torch.compile(run, backend="eager", fullgraph=True)(torch.ones(2))
    print(got)
    return got.tolist() != [5.0, 5.0]


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
