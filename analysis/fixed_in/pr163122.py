"""Saves the state of SWALR and loads it with weights_only=True, for each way of annealing."""

import sys


def bug():
    """Whether the bug is there."""
    import io

    import torch

    weight = torch.nn.Parameter(torch.ones(2))
    for way in ("cos", "linear"):
        scheduler = torch.optim.swa_utils.SWALR(torch.optim.SGD([weight], lr=0.1), swa_lr=0.05, anneal_strategy=way)
        file = io.BytesIO()
        torch.save(scheduler.state_dict(), file)
        file.seek(0)
        try:
            state = torch.load(file, weights_only=True)
        except Exception as error:
            print(way, str(error)[:200])
            return True
        scheduler.load_state_dict(state)
    return False


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
