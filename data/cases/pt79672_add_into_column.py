# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#79672"]
# relation = "same"
# bug_type = "memory"
# memory_type = "non_contiguous"
# memory_subtype = "input_tensor_management"
# consequence = "silent_correctness"
# requires = ["mps"]
# known_bad = []
# signature = "mismatch"
# oracle = "self"
# ///
"""Adds a column of one matrix to the same column of another one in place. The column must hold the sum. Instead it
keeps its old content, since the result does not find its way back to the strided column."""

import os
import sys

DEVICE = "mps"


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed + 1
    return observed


def where_off(got, expected):
    """Say by how much got differs from expected, and where most."""
    off = (got.detach().cpu().double() - expected.detach().cpu().double()).abs().nan_to_num(float("inf"))
    at, place = int(off.argmax()), []
    for size in reversed(off.shape):
        place.insert(0, at % size)
        at //= size
    return "off by up to %g at %s" % (off.max(), tuple(place))


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    if not torch.backends.mps.is_available():
        return 125, "no MPS device here"

    first = torch.arange(12.0).reshape(4, 3)
    second = torch.full((4, 3), 100.0)
    truth = first.clone()
    truth[:, 0] += 100
    # Writing the sum out column by column was wrong as well when this was reported; whole matrices were not.
    if not torch.equal((first.to(DEVICE) + second.to(DEVICE)).cpu(), first + second):
        return 125, "the workaround path fails too: whole matrices are added wrongly"
    target = first.to(DEVICE)
    target[:, 0] += second.to(DEVICE)[:, 0]
    got = target.cpu()
    got = spoil(got)
    if torch.equal(got, truth):
        return 0, "the numbers are right"
    return 1, "the result is " + where_off(got, truth)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
