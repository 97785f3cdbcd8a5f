# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#192540"]
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
"""Takes the Hessian of the determinant of a two by two matrix by jacfwd twice. It consists of ones, minus ones and
zeros, as hessian (forward over reverse) says. Instead the factors saved by the forward call are taken for constants,
and other numbers come out."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed + 1.2
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    at = torch.tensor([[1.3, 0.4], [-0.7, 0.9]], dtype=torch.float64)
    got = torch.func.jacfwd(torch.func.jacfwd(torch.linalg.det))(at)
    got = spoil(got)
    truth = torch.zeros(2, 2, 2, 2, dtype=torch.float64)
    truth[0, 0, 1, 1] = truth[1, 1, 0, 0] = 1
    truth[0, 1, 1, 0] = truth[1, 0, 0, 1] = -1
    expected = torch.func.hessian(lambda m: m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0])(at)
    if not torch.allclose(expected, truth):
        return 125, "the workaround path fails too: the Hessian written out is %s" % expected.flatten().tolist()
    if torch.allclose(got, truth):
        return 0, "the Hessian of the determinant is right"
    return 1, "the Hessian of the determinant is off by %g" % (got - truth).abs().max().item()


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
