"""Matrix products of two floating types must be refused on meta and in compiled code as in eager mode."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    kept = []
    for other in (torch.bfloat16, torch.float16):
        left, right = torch.ones(2, 3, 4), torch.ones(2, 4, 3, dtype=other)
        for f in (torch.bmm, torch.matmul):
            for where in ("cpu", "meta"):
                try:
                    f(left.to(where), right.to(where))
                except RuntimeError:
                    continue
                if where == "cpu":
                    raise NotImplementedError("eager mode takes it")
                kept.append((f.__name__, where))
            torch._dynamo.reset()
            try:
                torch.compile(lambda a, b, f=f: f(a, b), backend="aot_eager_decomp_partition")(left, right)
            except Exception as error:
                print(type(error).__name__, str(error)[:100])
            else:
                kept.append((f.__name__, "compiled"))
    print(kept)
    return bool(kept)


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
