# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#86496"]
# relation = "same"
# bug_type = "memory"
# memory_type = "non_contiguous"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = ["1.13.1"]
# fixed_in = "2.0.1"
# signature = "mismatch"
# oracle = "self"
# ///
"""Applies relu to a nested tensor whose items were transposed. Either the items come out transposed and clipped, or
the layout is refused with an exception. Instead the buffer is processed as if it were dense and wrapped with the
wrong sizes, so that the items hold numbers in wrong places."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        import torch

        observed = torch.zeros(2, 3, 2)
    return observed


def is_refusal(error):
    """True where error is the refusal that is due here, by its type and its words."""
    return isinstance(error, RuntimeError) and "contiguous" in str(error)


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

    items = [torch.arange(6.0).reshape(2, 3) - 2, torch.arange(9.0).reshape(3, 3) - 4]
    make = getattr(torch.nested, "nested_tensor", None)
    if make is None:
        return 125, "this release has no constructor for nested tensors"
    dense = make([item.t().contiguous() for item in items])
    for place, got in enumerate(torch.relu(dense).unbind()):
        item = items[place]
        if not torch.equal(got, item.t().clamp(min=0)):
            return 125, "the workaround path fails too: relu of packed items is wrong"
    try:
        clipped = torch.relu(make(items).transpose(1, 2))
    except RuntimeError as error:
        if not is_refusal(error):
            raise
        clipped = error
    clipped = spoil(clipped)
    if isinstance(clipped, Exception):
        return 0, "the transposed layout is refused: " + str(clipped).splitlines()[0]
    for place, got in enumerate(clipped.unbind()):
        item = items[place]
        if got.shape != item.t().shape or not torch.equal(got, item.t().clamp(min=0)):
            return 1, "relu of the transposed items: " + where_off(got, item.t().clamp(min=0))
    return 0, "relu of the transposed items is right"


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
