# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#129093"]
# relation = "sibling"
# bug_type = "memory"
# memory_type = "non_contiguous"
# memory_subtype = "input_tensor_management"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = ["2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1"]
# fixed_in = "2.6.0"
# signature = "mismatch"
# oracle = "self"
# ///
"""Gathers with an index whose rows overlap in memory, so that both of its strides are one. The strides must not
matter. Instead the operator takes the index for an expanded vector and repeats the picks of its first row."""

import os
import sys


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

    source = torch.arange(20.0).reshape(5, 4)
    numbers = torch.tensor([0, 3, 1, 4, 2, 0])
    index = torch.as_strided(numbers, (3, 4), (1, 1))
    got = torch.gather(source, 0, index)
    got = spoil(got)
    expected = torch.gather(source, 0, index.clone(memory_format=torch.contiguous_format))
    truth = torch.tensor([[float(source[numbers[r + c], c]) for c in range(4)] for r in range(3)])
    if not torch.equal(expected, truth):
        return 125, "the workaround path fails too: a dense index picks wrong elements"
    if torch.equal(got, truth):
        return 0, "an index with two strides of one picks the right elements"
    return 1, "an index with two strides of one: " + where_off(got, truth)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
