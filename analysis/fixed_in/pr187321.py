"""celu with alpha = 0 must be refused under the decompositions of inductor, as in eager mode."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    def curve(x):
        return torch.nn.functional.celu(x, alpha=0.0)

    x = torch.ones(3)
    try:
        curve(x)
    except RuntimeError:
        pass
    else:
        raise NotImplementedError("eager mode takes it")
    try:
        got = torch.compile(curve, backend="aot_eager_decomp_partition")(x)
    except Exception as error:
        print(str(error)[:200])
        return False
    print(got)
    return True


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
