"""The rank that lstsq (gelsy) gives for each matrix of a batch must be that of the matrix alone."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    torch.manual_seed(0)
    wrong = []
    for kind in (torch.float64, torch.float32):
        batch = torch.randn(6, 5, 4, dtype=kind)
        batch[0::2, :, 3] = batch[0::2, :, 0]
        batch[1, :, 2] = 0
        right = torch.randn(6, 5, 2, dtype=kind)
        together = torch.linalg.lstsq(batch, right, driver="gelsy").rank
        alone = torch.stack([torch.linalg.lstsq(a, b, driver="gelsy").rank for a, b in zip(batch, right)])
        truth = torch.stack([torch.linalg.matrix_rank(one) for one in batch])
        wrong.append(not torch.equal(together, truth) or not torch.equal(together, alone))
        print(together.tolist(), alone.tolist(), truth.tolist())
    return any(wrong)


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
