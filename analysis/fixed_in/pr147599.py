"""A lazy linear layer without a bias that loads the state of a linear layer must know its sizes."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    plain = torch.nn.Linear(5, 3)
    lazy = torch.nn.LazyLinear(3)
    lazy.load_state_dict(plain.state_dict())
    x = torch.ones(2, 5)
    try:
        got = lazy(x)
    except Exception as error:
        print(type(error).__name__, str(error)[:200])
        return True
    print(lazy.in_features, type(lazy).__name__)
    return lazy.in_features != 5 or not torch.equal(got, plain(x))


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
