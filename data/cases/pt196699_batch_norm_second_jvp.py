# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#196699"]
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
"""Differentiates batch normalisation with the statistics of its batch twice in forward mode. The second derivative
should be that of the formula written out. Instead it is another number: the rule of the first derivative takes the
saved mean and deviation for constants."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed + 1
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)

    def values(t):
        return torch.stack([t - t * t, 2 * t + 1, 5 * t + 4, 6 * t + t * t + 5]).reshape(2, 1, 2)

    def built_in(t):
        normal = torch.nn.functional.batch_norm(values(t), None, None, training=True, eps=0.25)
        return (normal.flatten() * weights).sum()

    def written_out(t):
        x = values(t).flatten()
        centred = x - x.mean()
        return (centred / ((centred * centred).mean() + 0.25).sqrt() * weights).sum()

    def twice(function):
        def once(t):
            return torch.func.jvp(function, (t,), (torch.ones_like(t),))[1]

        return torch.func.jvp(once, (point,), (torch.ones_like(point),))[1].item()

    weights = torch.tensor([1.0, 2.0, 5.0, 6.0], dtype=torch.float64)
    point = torch.tensor(-6.0, dtype=torch.float64)
    got = twice(built_in)
    got = spoil(got)
    expected = twice(written_out)
    step = 1e-3
    slope = [torch.func.grad(written_out)(point + side * step).item() for side in (-1, 1)]
    if abs((slope[1] - slope[0]) / (2 * step) - expected) > 1e-5 * max(1.0, abs(expected)):
        return 125, "the workaround path fails too: written out %s, by differences of %s" % (expected, slope)
    if abs(got - expected) < 1e-9 * max(1.0, abs(expected)):
        return 0, "the second derivative is %.9g, as it should be" % got
    return 1, "the second derivative is %.9g instead of %.9g" % (got, expected)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
