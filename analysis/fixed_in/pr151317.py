"""log_prob of a mixture of continuous and of multivariate parts must check its values and take right ones."""

import sys


def bug():
    """Whether the bug is there."""
    import torch
    from torch import distributions as d

    mix = d.Categorical(torch.ones(3))
    found = []
    for name, part, value in (
        ("normal", d.Normal(torch.zeros(3), torch.ones(3)), torch.zeros(4)),
        ("several", d.MultivariateNormal(torch.zeros(3, 2), torch.eye(2)), torch.zeros(4, 2)),
        ("discrete", d.Categorical(torch.ones(3, 5)), torch.tensor([0, 4])),
        ("simplex", d.Dirichlet(torch.ones(3, 4)), torch.full((2, 4), 0.25)),
    ):
        both = d.MixtureSameFamily(mix, part, validate_args=True)
        try:
            got = both.log_prob(value)
            found.append((name, tuple(got.shape)))
            both.log_prob(both.sample((2,)))
        except ValueError as error:
            print(name, str(error)[:200])
            return True
    bad = d.MixtureSameFamily(mix, d.Gamma(torch.ones(3), torch.ones(3)), validate_args=True)
    try:
        bad.log_prob(torch.tensor(-1.0))
    except ValueError:
        return False
    print(found)
    return True


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
