# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#107702"]
# relation = "same"
# bug_type = "data_type"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0", "2.14.1",
# ]
# fixed_in = "2.15.0"
# signature = "mismatch"
# oracle = "self"
# ///
"""Clamps an unsigned byte of three from below at -129, into a given output. Nothing should change, or the bound be
refused, as it is for signed bytes. Instead the bound wraps around to 127 and the byte becomes that."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = [127]
    return observed


def is_refusal(error):
    """True where error is the refusal that is due here, by its type and its words."""
    return isinstance(error, RuntimeError) and any(words in str(error) for words in ("overflow", "out of range"))


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    values = torch.tensor([3], dtype=torch.uint8)
    if torch.clamp(values.to(torch.int16), min=-129).tolist() != [3]:
        return 125, "the workaround path fails too: wider integers are clamped wrongly"
    try:
        got = torch.clamp(values, min=-129, out=torch.empty(0, dtype=torch.uint8)).tolist()
    except RuntimeError as error:
        if not is_refusal(error):
            raise
        got = error
    got = spoil(got)
    if isinstance(got, Exception):
        return 0, "refused: %s" % str(got)[:80]
    if got == [3]:
        return 0, "the byte is unchanged"
    return 1, "clamped at -129 the byte 3 becomes %s" % got


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
