# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#101106"]
# relation = "same"
# bug_type = "data_type"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0",
# ]
# fixed_in = "2.12.1"
# signature = "mismatch"
# oracle = "self"
# ///
"""Adds a float64 matrix-vector product to a complex128 vector. By the rules of promotion the sum is complex128, or the
mix is refused as in addmm. Instead the sum is float64, and the imaginary part is lost with a warning."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        import torch

        observed = torch.zeros(3)
    return observed


def is_refusal(error):
    """True where error is the refusal that is due here, by its type and its words."""
    return isinstance(error, RuntimeError) and "same dtype" in str(error)


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    base = torch.full((3,), 1 + 2j, dtype=torch.complex128)
    matrix, vector = torch.ones(3, 2, dtype=torch.float64), torch.ones(2, dtype=torch.float64)
    expected = base + matrix @ vector
    if expected.dtype != torch.complex128 or expected.tolist() != [3 + 2j] * 3:
        return 125, "the workaround path fails too: sum and product one after the other are %s" % expected.dtype
    try:
        got = torch.addmv(base, matrix, vector)
    except RuntimeError as error:
        if not is_refusal(error):
            raise
        got = error
    got = spoil(got)
    if isinstance(got, Exception):
        return 0, "refused: %s" % str(got)[:80]
    if got.dtype == torch.complex128 and torch.equal(got, expected):
        return 0, "the result is promoted to complex128"
    return 1, "a complex128 summand gives a %s result" % got.dtype


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
