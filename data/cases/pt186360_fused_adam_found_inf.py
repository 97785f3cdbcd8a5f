# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#186360"]
# relation = "same"
# bug_type = "logical"
# consequence = "silent_correctness"
# requires = ["mps", "torch>=2.5"]
# known_bad = []
# signature = "mismatch"
# oracle = "self"
# ///
"""Steps a fused optimizer although the gradient scaler has flagged an overflow. The parameters must stay as they
are. Instead they move, because the kernels ignore the flag, and the scale."""

import os
import sys

DEVICE = "mps"


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed - 1
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

    def step(fused, flag):
        weight = torch.ones(4, device=DEVICE)
        weight.grad = torch.ones(4, device=DEVICE)
        optimizer = torch.optim.Adam([weight], lr=0.1, fused=fused)
        if fused and flag:
            optimizer.found_inf = torch.ones((), device=DEVICE)
        if fused or not flag:
            optimizer.step()
        return weight.cpu()

    if not torch.allclose(step(fused=True, flag=False), step(fused=False, flag=False)):
        return 125, "the workaround path fails too: fused and plain steps differ without a flag"
    got = step(fused=True, flag=True)
    got = spoil(got)
    if torch.equal(got, torch.ones(4)):
        return 0, "flagged parameters stay as they are"
    return 1, "flagged parameters are " + where_off(got, torch.ones(4))


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
