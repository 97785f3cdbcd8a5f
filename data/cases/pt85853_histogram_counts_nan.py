# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#85853"]
# relation = "same"
# bug_type = "logical"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = ["1.13.1"]
# fixed_in = "2.0.1"
# signature = "mismatch"
# oracle = "self"
# ///
"""Counts three values into bins, one of which is not a number. It belongs to no bin, so that two should be counted.
Instead the value is turned into a bin number as it is and lands in the first bin."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        import torch

        observed = torch.ones(4)
    return observed


def is_refusal(error):
    """True where error is the refusal that is due here, by its type and its words."""
    return isinstance(error, RuntimeError) and any(words in str(error) for words in ("NaN", "nan"))


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    values = torch.tensor([1.0, float("nan"), 2.0])
    expected = torch.histc(values[~values.isnan()], bins=4, min=0, max=4)
    if expected.tolist() != [0.0, 1.0, 1.0, 0.0]:
        return 125, "the workaround path fails too: without the NaN the counts are %s" % expected.tolist()
    try:
        got = torch.histc(values, bins=4, min=0, max=4)
    except RuntimeError as error:
        if not is_refusal(error):
            raise
        got = error
    got = spoil(got)
    if isinstance(got, Exception):
        return 0, "refused: %s" % str(got)[:80]
    if torch.equal(got, expected):
        return 0, "the NaN is in no bin: %s" % got.tolist()
    return 1, "1, NaN and 2 are counted as %s" % got.tolist()


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
