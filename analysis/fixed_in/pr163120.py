"""What a scheduler gave as its last rate must not change with the next step where the rate is a tensor."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    weight = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([weight], lr=torch.tensor(0.1))
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    kept = scheduler.get_last_lr()[0]
    before = float(kept)
    optimizer.step()
    scheduler.step()
    print(before, float(kept), float(scheduler.get_last_lr()[0]))
    return float(kept) != before


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
