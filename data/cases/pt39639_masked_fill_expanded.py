# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#39639"]
# relation = "same"
# bug_type = "memory"
# memory_type = "non_contiguous"
# memory_subtype = "input_tensor_management"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Fills one number of a column that was expanded to four columns, in place, by a mask. The result should be that of the
function that is not in place, or the call be refused, since the columns share memory. Instead the whole row is filled;
at most a warning tells."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed[0] = [3, 3, 3, 3]
    return observed


def is_refusal(error):
    """True where error is the refusal that is due here, by its type and its words."""
    return isinstance(error, RuntimeError) and "single memory location" in str(error)


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    mask = torch.tensor([[False, True, False, False], [False, False, False, False]])
    expected = torch.tensor([[0], [1]]).expand(2, 4).masked_fill(mask, 3)
    if expected.tolist() != [[0, 3, 0, 0], [1, 1, 1, 1]]:
        return 125, "the workaround path fails too: out of place the result is %s" % expected.tolist()
    target, refused = torch.tensor([[0], [1]]).expand(2, 4), ""
    try:
        got = target.masked_fill_(mask, 3).tolist()
    except RuntimeError as error:
        if not is_refusal(error):
            raise
        got, refused = expected.tolist(), "refused: %s" % str(error)[:80]
    got = spoil(got)
    if got == expected.tolist():
        return 0, refused or "only the marked number is filled"
    return 1, "the row of which one number is marked holds %s" % got[0]


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
