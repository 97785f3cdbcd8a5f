"""Loads three numbers into a parameter without dimensions: this must be refused, not take the first."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    class One(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.tensor(0.0))

    module = One()
    module.load_state_dict({"weight": torch.tensor([5.0])})
    try:
        module.load_state_dict({"weight": torch.tensor([1.0, 2.0, 3.0])})
    except RuntimeError as error:
        print(str(error)[:200])
        return "size mismatch" not in str(error)
    print(module.weight)
    return True


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
