"""uniform_ on every other column, decomposed as inductor does, must fill these columns and leave the others."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    def fill(x):
        x[:, ::2].uniform_(2, 3)
        return x

    def turned(x):
        y = x.t()
        y.uniform_(2, 3)
        return y, x

    def part(x):
        y = x[1:4, ::3]
        y.uniform_(2, 3)
        return x

    wrong = []
    for f in (fill, turned, part, lambda x: torch.ops.aten.uniform(x[:, ::2], 2.0, 3.0)):
        torch._dynamo.reset()
        want = f(torch.zeros(6, 8))
        try:
            got = torch.compile(f, backend="aot_eager_decomp_partition")(torch.zeros(6, 8))
        except Exception as error:
            print(type(error).__name__, str(error)[:200])
            return True
        want, got = (one if isinstance(one, tuple) else (one,) for one in (want, got))
        wrong.append(not all(torch.equal(a.floor(), b.floor()) for a, b in zip(want, got)))
    print(wrong)
    return any(wrong)


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
