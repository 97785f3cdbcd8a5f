# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#145203", "pytorch/pytorch#146085"]
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
"""Flips a bit of every number of one column in place. Only that column must change. Instead the kernel runs over
packed memory and changes the first numbers of the buffer, whichever column they belong to."""

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

    def run(copy):
        matrix = torch.zeros(10, 2, dtype=torch.int16, device=DEVICE)
        if copy:
            matrix[:, 0] = matrix[:, 0] ^ 1
        else:
            matrix[:, 0] ^= 1
        return matrix.cpu()

    truth = torch.tensor([[1, 0]] * 10, dtype=torch.int16)
    if not torch.equal(run(copy=True), truth):
        return 125, "the workaround path fails too: writing out the result gives wrong numbers"
    got = run(copy=False)
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
