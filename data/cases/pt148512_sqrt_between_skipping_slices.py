# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#148512"]
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
"""Takes square roots of a slice that skips rows and columns into a slice with the same strides. All of the
destination must be written. Instead equal strides pass for density, and only a part is updated."""

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
        source = torch.arange(64.0, device=DEVICE).reshape(8, 8).square()
        target = torch.full((8, 8), -1.0, device=DEVICE)
        if copy:
            target[::2, ::2] = torch.sqrt(source[::2, ::2].contiguous())
        else:
            torch.sqrt(source[::2, ::2], out=target[::2, ::2])
        return target.round().cpu()

    truth = torch.where(
        (torch.arange(8) % 2 == 0)[:, None] & (torch.arange(8) % 2 == 0),
        torch.arange(64.0).reshape(8, 8),
        torch.full((8, 8), -1.0),
    )
    if not torch.equal(run(copy=True), truth):
        return 125, "the workaround path fails too: a dense source gives wrong numbers"
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
