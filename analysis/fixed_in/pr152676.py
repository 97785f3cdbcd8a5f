"""A dot product and a product with a vector in half precision must sum in single precision."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    torch.manual_seed(0)
    worst = 0.0
    for kind in (torch.float16, torch.bfloat16):
        eps = torch.finfo(kind).eps
        for size in (1000, 4097):
            a, b = torch.rand(size).to(kind), torch.rand(size).to(kind)
            truth = a.double() @ b.double()
            worst = max(worst, (torch.dot(a, b).double() / truth - 1).abs().item() / eps)
            rows = torch.rand(5, size).to(kind)
            for layout in (rows, rows.t().contiguous().t()):
                truth = layout.double() @ b.double()
                worst = max(worst, (torch.mv(layout, b).double() / truth - 1).abs().max().item() / eps)
    print("off by", worst, "units")
    return worst > 2


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
