# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#89320", "pytorch/pytorch#85063", "pytorch/pytorch#94634"]
# relation."pytorch/pytorch#89320" = "same"
# relation."pytorch/pytorch#85063" = "sibling"
# relation."pytorch/pytorch#94634" = "sibling"
# bug_type = "data_type"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = ["1.13.1", "2.0.1"]
# fixed_in = "2.1.2"
# signature = "mismatch"
# oracle = "self"
# ///
"""Fills a tensor where a mask of floats is one. The mask should be honoured or refused. Instead the kernel reads the
bytes of the floats as truth values and fills nothing."""

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
    return isinstance(error, RuntimeError) and "boolean mask" in str(error)


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    mask = torch.tensor([1.0, 0.0, 1.0])
    expected = torch.zeros(3).masked_fill(mask.bool(), 9.0)
    if expected.tolist() != [9.0, 0.0, 9.0]:
        return 125, "the workaround path fails too: a boolean mask gives %s" % expected.tolist()
    try:
        got = torch.zeros(3).masked_fill(mask, 9.0)
    except RuntimeError as error:
        if not is_refusal(error):
            raise
        got = error
    got = spoil(got)
    if isinstance(got, Exception):
        return 0, "refused: %s" % str(got)[:80]
    if torch.equal(got, expected):
        return 0, "the mask is honoured"
    return 1, "mask 1, 0, 1 of floats gives %s" % got.tolist()


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
