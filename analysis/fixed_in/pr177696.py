"""Matrix products of two floating types must be refused in compiled code as in eager mode."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    left = torch.ones(2, 3, 4)
    right = torch.ones(2, 4, 3, dtype=torch.bfloat16)
    kept = []
    for f in (torch.bmm, torch.matmul):
        try:
            f(left, right)
        except RuntimeError:
            pass
        else:
            raise NotImplementedError("eager mode takes it")
        for backend in ("eager", "aot_eager", "aot_eager_decomp_partition"):
            torch._dynamo.reset()
            try:
                torch.compile(lambda a, b, f=f: f(a, b), backend=backend)(left, right)
            except Exception as error:
                print(type(error).__name__, str(error)[:100])
            else:
                kept.append((f.__name__, backend))
    print(kept)
    return bool(kept)


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
