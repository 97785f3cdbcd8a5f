"""A mixture of binomial parts, whose support depends on a parameter of several rows, must take its own samples."""

import sys


def bug():
    """Whether the bug is there."""
    import torch
    from torch import distributions as d

    torch.manual_seed(0)
    both = d.MixtureSameFamily(
        d.Categorical(torch.ones(4, 3)), d.Binomial(7, torch.full((4, 3), 0.5)), validate_args=True
    )
    value = both.sample()
    try:
        got = both.log_prob(value)
    except (RuntimeError, ValueError) as error:
        print(type(error).__name__, str(error)[:200])
        return True
    print(got.shape)
    return tuple(got.shape) != (4,)


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
