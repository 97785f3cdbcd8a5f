"""Compiled celu must refuse alpha = 0 as eager mode does."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    def curve(x):
        return torch.nn.functional.celu(x, alpha=0.0)

    x = torch.ones(3)
    try:
        curve(x)
    except RuntimeError as error:
        want = str(error)[:60]
    for backend in ("aot_eager", "inductor"):
        torch._dynamo.reset()
        try:
            got = torch.compile(curve, backend=backend)(x)
        except Exception as error:
            print(backend, str(error)[:150])
            if want[:20] not in str(error):
                return True
        else:
            print(backend, got)
            return True
    return False


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
