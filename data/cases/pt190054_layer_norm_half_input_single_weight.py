# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#190054"]
# bug_type = "data_type"
# consequence = "silent_correctness"
# requires = ["mps"]
# known_bad = []
# signature = "mismatch"
# oracle = "self"
# ///
"""Normalises half-precision rows with a weight and a bias in single precision. The numbers of the CPU are due, up to
half precision. Instead the bits of the weight are read as half precision, and the output is garbage."""

import os
import sys

PLANT = os.environ.get("EMBERS_PLANT") == "1"
DEVICE = "mps"


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
    torch.manual_seed(0)
    rows, weight, bias = torch.randn(4, 16), torch.rand(16) + 0.5, torch.randn(16)
    norm = torch.nn.functional.layer_norm
    half = rows.half().to(DEVICE)
    truth = norm(rows.half().float(), (16,), weight, bias)
    expected = norm(half, (16,), weight.half().to(DEVICE), bias.half().to(DEVICE)).cpu()
    if not torch.allclose(expected.float(), truth.float(), atol=0.05):
        return 125, "the workaround path fails too: a half-precision weight gives wrong numbers"
    got = norm(half, (16,), weight.to(DEVICE), bias.to(DEVICE)).cpu()
    if PLANT:
        got = got + 1
    if torch.allclose(got.float(), truth.float(), atol=0.05):
        return 0, "the numbers agree with the CPU"
    return 1, "the result is " + where_off(got.float(), truth.float())


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
