# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#184286"]
# relation = "same"
# bug_type = "data_type"
# consequence = "silent_correctness"
# requires = ["mps"]
# known_bad = []
# signature = "mismatch"
# oracle = "self"
# ///
"""Removes the loss scale from half-precision gradients. They must come back at the true size. Instead they become
zero, since the kernel reads the factor, which is in single precision, as half precision; training stands still."""

import os
import sys

DEVICE = "mps"


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed * 0
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
    unscale = torch._amp_foreach_non_finite_check_and_unscale_
    truth = torch.tensor([1.0, -2.0, 4.0])

    def run(kind):
        gradients = [(truth * 8).to(DEVICE, kind)]
        unscale(gradients, torch.zeros((), device=DEVICE), torch.full((), 0.125, device=DEVICE))
        return gradients[0].float().cpu()

    if not torch.equal(run(torch.float32), truth):
        return 125, "the workaround path fails too: single-precision gradients come back wrong"
    for dtype in (torch.float16, torch.bfloat16):
        got = run(dtype)
        got = spoil(got)
        if not torch.equal(got, truth):
            return 1, "%s gradients are %s" % (dtype, where_off(got, truth))
    return 0, "gradients in both half precisions come back at the true size"


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
