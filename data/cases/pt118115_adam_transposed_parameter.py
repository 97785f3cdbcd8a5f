# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#118115", "pytorch/pytorch#124442"]
# relation = "sibling"
# bug_type = "memory"
# memory_type = "non_contiguous"
# memory_subtype = "input_tensor_management"
# consequence = "silent_correctness"
# requires = ["mps"]
# known_bad = []
# signature = "mismatch"
# oracle = "self"
# ///
"""Trains one parameter that lies transposed in memory for some steps of Adam, whose running averages inherit that
layout. It must follow the same path as a dense parameter. Instead an update in place of an average is lost on the
device, so that the parameter stands still or leaves the path."""

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
    torch.manual_seed(0)
    start, slopes = torch.randn(4, 6), torch.randn(5, 4, 6)

    def train(device, transpose):
        weight = start.to(device).clone()
        weight = torch.nn.Parameter(weight.t().contiguous().t() if transpose else weight)
        optimizer = torch.optim.Adam([weight], lr=0.1, foreach=False)
        for slope in slopes:
            weight.grad = torch.zeros_like(weight)
            weight.grad.copy_(slope.to(device))
            optimizer.step()
        return weight.detach().cpu()

    truth = train("cpu", transpose=False)
    if not torch.allclose(train(DEVICE, transpose=False), truth, atol=1e-4):
        return 125, "the workaround path fails too: a dense parameter leaves the path"
    got = train(DEVICE, transpose=True)
    got = spoil(got)
    if torch.allclose(got, truth, atol=1e-4):
        return 0, "the transposed parameter follows the dense one"
    return 1, "after five steps the transposed parameter is " + where_off(got, truth)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
