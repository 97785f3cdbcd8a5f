# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#187429"]
# relation = "same"
# bug_type = "data_type"
# consequence = "nan_inf"
# requires = ["cpu"]
# known_bad = ["2.8.0", "2.9.1", "2.10.0", "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0"]
# signature = "mismatch"
# oracle = "self"
# ///
"""Writes ten million into a float16 tensor where a flag is set. It should be refused, as full_like refuses it, since
float16 ends at 65504. Instead infinity is written without a word."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = [float("inf"), 0.0]
    return observed


WORDS = ("without overflow",)


def is_refusal(error):
    """True where error is the refusal that is due here, by its type and its words."""
    return isinstance(error, (RuntimeError, ValueError, IndexError)) and any(word in str(error) for word in WORDS)


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    flags = torch.tensor([True, False])
    zeros = torch.zeros(2, dtype=torch.float16)
    if torch.where(flags, 1e4, zeros).tolist() != [10000.0, 0.0]:
        return 125, "the workaround path fails too: ten thousand is not written"
    try:
        return 125, "the workaround path fails too: full_like gives %s" % torch.full_like(zeros, 1e7).tolist()
    except RuntimeError as error:
        if not is_refusal(error):
            raise
    try:
        got = torch.where(flags, 1e7, zeros).tolist()
    except RuntimeError as error:
        if not is_refusal(error):
            raise
        got = error
    got = spoil(got)
    if isinstance(got, Exception):
        return 0, "ten million is refused as too large for float16"
    if got == [1e7, 0.0]:
        return 0, "ten million is kept in a wider type"
    return 1, "ten million becomes %s" % got


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
