# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#186256"]
# relation = "sibling"
# bug_type = "logical"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0",
# ]
# fixed_in = "2.14.1"
# signature = "mismatch"
# oracle = "self"
# ///
"""Differentiates batch normalisation with the statistics of its batch three times. The third derivative should be that
of the formula written out, or be refused. Instead it is another number, while the first two are right: the saved
mean and deviation count as constants."""

import operator
import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed[2] += 1
    return observed


def apart(left, right):
    """Return the largest difference of two lists of numbers."""
    return max(map(abs, map(operator.sub, left, right)))


WORDS = ("does not support", "not supported")


def is_refusal(error):
    """True where error is the refusal that is due here, by its type and its words."""
    return isinstance(error, (RuntimeError, ValueError, IndexError)) and any(word in str(error) for word in WORDS)


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    weights = torch.tensor([1.0, 2.0, -1.0, 0.5], dtype=torch.float64)

    def built_in(t):
        x = torch.stack([t, t * t, 1 - t, 2 + 0 * t]).reshape(4, 1)
        return (torch.nn.functional.batch_norm(x, None, None, training=True).flatten() * weights).sum()

    def written_out(t):
        x = torch.stack([t, t * t, 1 - t, 2 + 0 * t])
        centred = x - x.mean()
        return (centred / ((centred * centred).mean() + 1e-5).sqrt() * weights).sum()

    def derivatives(function):
        t = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
        value, found = function(t), []
        for _ in range(3):
            (value,) = torch.autograd.grad(value, t, create_graph=True)
            found.append(value.item())
        return found

    truth = derivatives(written_out)
    try:
        got = derivatives(built_in)
    except RuntimeError as error:
        if not is_refusal(error):
            raise
        got = error
    got = spoil(got)
    if isinstance(got, Exception):
        return 0, "the third derivative is refused"
    if apart(got[:2], truth[:2]) > 1e-6:
        return 125, "the first two derivatives are %s instead of %s" % (got[:2], truth[:2])
    if abs(got[2] - truth[2]) < 1e-6 * max(1.0, abs(truth[2])):
        return 0, "the third derivative is %.9g, as it should be" % got[2]
    return 1, "the third derivative is %.9g instead of %.9g" % (got[2], truth[2])


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
