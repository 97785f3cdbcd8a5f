# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#196698"]
# relation = "same"
# bug_type = "logical"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0",
#     "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Takes the second derivative of the sum of a Householder reflection's first column, for the vector of one and t, in
forward mode twice. It should be that of the column written out. Instead it has the wrong sign."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = -observed
    return observed


def second(function, at):
    """Return the second derivative of a function of one number, in forward mode twice."""
    import torch

    one = torch.ones_like(at)
    return torch.func.jvp(lambda t: torch.func.jvp(function, (t,), (one,))[1], (at,), (one,))[1]


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    one = torch.ones((), dtype=torch.float64)

    def by_operator(t):
        vector = torch.stack([one, t]).reshape(2, 1)
        return torch.linalg.householder_product(vector, (2 / (1 + t * t)).reshape(1)).sum()

    def written_out(t):
        return 1 - 2 * (1 + t) / (1 + t * t)

    at = torch.tensor(0.7, dtype=torch.float64)
    got = second(by_operator, at)
    got = spoil(got)
    expected = second(written_out, at).item()
    step = 1e-4
    around = ((by_operator(at + step) - 2 * by_operator(at) + by_operator(at - step)) / step**2).item()
    if abs(expected - around) > 1e-5:
        return 125, "the workaround path fails too: written out %g, finite differences %g" % (expected, around)
    if abs(got.item() - expected) < 1e-8:
        return 0, "the second derivative is %g" % got.item()
    return 1, "the second derivative is %g instead of %g" % (got.item(), expected)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
