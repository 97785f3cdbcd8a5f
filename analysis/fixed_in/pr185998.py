"""Traces a class definition whose method uses an object of the function around it."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    class Holder:
        n = 4

    def made(holder):
        def defines(x):
            class Scale:
                def __call__(self, z):
                    return z + holder.n

            return Scale()(x)

        return defines

    try:
        with torch._dynamo.config.patch(enable_trace_load_build_class=True):
            got = torch.compile(made(Holder()), backend="eager", fullgraph=True)(torch.ones(2))
    except AttributeError:
        raise
    except Exception as error:
        print(type(error).__name__, str(error)[:300])
        return True
    return got.tolist() != [5.0, 5.0]


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
