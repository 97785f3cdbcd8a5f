"""slice_scatter of a source of another type must have one type in eager mode, on meta and under decompositions."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    def scattered(x, source):
        return torch.slice_scatter(x, source, 0, 0, 2)

    wrong = []
    for one, two in ((torch.float32, torch.float64), (torch.int64, torch.float32), (torch.float32, torch.int64)):
        torch._dynamo.reset()
        x, source = torch.zeros(4, dtype=one), torch.ones(2, dtype=two) * 1.5
        source = source.to(two)
        want = scattered(x, source)
        got = torch.compile(scattered, backend="aot_eager_decomp_partition")(x, source)
        if want.dtype != got.dtype or not torch.equal(want, got):
            wrong.append((one, two, want, got))
    inductor = torch.compile(lambda x, s: torch.slice_scatter(x, s, 0, 0, 2) + 1)
    x, source = torch.zeros(4, dtype=torch.int64), torch.ones(2) * 1.5
    want, got = scattered(x, source) + 1, inductor(x, source)
    print(wrong, want, got)
    return bool(wrong) or want.dtype != got.dtype or not torch.equal(want, got)


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
