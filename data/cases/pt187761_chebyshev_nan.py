# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#187761"]
# relation = "sibling"
# bug_type = "memory"
# memory_type = "initialization"
# memory_subtype = "order"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = ["2.9.1", "2.10.0", "2.11.0", "2.12.1", "2.13.0"]
# fixed_in = "2.14.1"
# signature = "mismatch"
# oracle = "self"
# ///
"""Evaluates Chebyshev polynomials of the fifth degree, plain and shifted, at NaN and at numbers. NaN should give NaN.
Instead a result that was never set comes out, such as that of the element before."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = [name + " -4" for name in ("u",)]
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    names = [
        "chebyshev_polynomial_u",
        "shifted_chebyshev_polynomial_t",
        "shifted_chebyshev_polynomial_u",
        "shifted_chebyshev_polynomial_w",
    ]
    at = torch.tensor([[0.5, float("nan"), 0.25], [float("nan"), 2.0, float("nan")]]).t()
    sixth = torch.special.chebyshev_polynomial_u(torch.tensor([0.5, 2.0]), torch.tensor(5)).tolist()
    if sixth != [0.0, 780.0]:
        return 125, "the workaround path fails too: U5 of a half and of two are %s" % sixth
    got = []
    for name in names:
        result = getattr(torch.special, name)(at, torch.tensor(5))
        got += ["%s %g" % (name, one) for one in result[at.isnan()].tolist() if one == one]
    got = spoil(got)
    if not got:
        return 0, "NaN gives NaN"
    return 1, "NaN gives a number: %s" % ", ".join(got[:3])


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
