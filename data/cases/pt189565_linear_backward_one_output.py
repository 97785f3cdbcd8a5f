# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#189565"]
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
"""Differentiates the sum of a linear layer with one output. Every row of the input must receive the weight as its
gradient. Instead the incoming gradient, which is one number expanded over all rows, is read as if it were packed,
and the rows past the first memory page receive zeros. The linked change tells of it beside the crash that it is
about."""

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
    torch.manual_seed(0)
    weight = torch.randn(1, 33)

    def gradient(expanded):
        rows = torch.ones(8192, 33, device=DEVICE, requires_grad=True)
        out = torch.nn.functional.linear(rows, weight.to(DEVICE))
        out.backward(
            torch.ones(1, 1, device=DEVICE).expand(8192, 1) if expanded else torch.ones(8192, 1, device=DEVICE)
        )
        return rows.grad.cpu()

    truth = weight.expand(8192, 33)
    if not torch.allclose(gradient(expanded=False), truth):
        return 125, "the workaround path fails too: a dense incoming gradient gives wrong numbers"
    got = gradient(expanded=True)
    got = spoil(got)
    if torch.allclose(got, truth):
        return 0, "every row receives the weight"
    return 1, "the gradient of the rows is " + where_off(got, truth)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
