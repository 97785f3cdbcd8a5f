"""The norm of one large number is its size: squaring it must not overflow, in no mode."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    x = torch.tensor(-1e30)
    found = {"eager": torch.norm(x), "vector_norm": torch.linalg.vector_norm(x)}
    found["reference"] = torch._refs.linalg.vector_norm(x)
    for f in (torch.linalg.vector_norm, torch.norm):
        torch._dynamo.reset()
        found[f.__name__ + " compiled"] = torch.compile(f, backend="aot_eager_decomp_partition")(x)
    print(found)
    return any(abs(value.item() / 1e30 - 1) > 1e-5 for value in found.values())


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
