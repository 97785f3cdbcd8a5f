# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#196696"]
# relation = "same"
# bug_type = "logical"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0",
#     "2.12.1", "2.13.0", "2.14.1",
# ]
# fixed_in = "2.15.0"
# signature = "mismatch"
# oracle = "self"
# ///
"""Takes the second derivative of the determinant of a two by two matrix, t + 2 and 2t + 3 on the diagonal and ones
beside it, in forward mode twice. It is four everywhere, and is four where the determinant is written out. Instead the
inverse inside of the first derivative is taken for a constant, and another number comes out."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed + 4.8
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
        return torch.det(torch.stack([t + 2, one, one, 2 * t + 3]).reshape(2, 2))

    def written_out(t):
        return (t + 2) * (2 * t + 3) - 1

    at = torch.tensor(0.7, dtype=torch.float64)
    got = second(by_operator, at)
    got = spoil(got)
    expected = second(written_out, at).item()
    if abs(expected - 4) > 1e-9 or abs(by_operator(at).item() - written_out(at).item()) > 1e-9:
        return 125, "the workaround path fails too: written out, the second derivative is %g" % expected
    if abs(got.item() - expected) < 1e-8:
        return 0, "the second derivative is %g" % got.item()
    return 1, "the second derivative is %g instead of 4" % got.item()


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
