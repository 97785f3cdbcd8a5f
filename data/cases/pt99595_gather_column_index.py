# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#99595", "pytorch/pytorch#99709"]
# relation = "same"
# bug_type = "memory"
# memory_type = "non_contiguous"
# memory_subtype = "input_tensor_management"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = ["2.0.1"]
# fixed_in = "2.1.2"
# signature = "mismatch"
# oracle = "self"
# ///
"""Gathers along the columns with an index of one column. Each row must return its own element. Instead an optimised
path takes the single column for an expanded vector, because both have the same strides, and picks other elements."""

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

    source = torch.arange(10.0).reshape(5, 2)
    index = torch.tensor([[1], [0], [1], [0], [1]])
    rows = torch.tensor([[2], [0], [4], [1], [3]])
    got = torch.cat([torch.gather(source, 1, index), torch.gather(source, 0, rows)])
    got = spoil(got)
    # The same picks with an index of two columns, of which the second one is thrown away.
    expected = torch.cat(
        [torch.gather(source, 1, index.repeat(1, 2))[:, :1], torch.gather(source, 0, rows.repeat(1, 2))[:, :1]]
    )
    truth = torch.tensor([[1.0], [2.0], [5.0], [6.0], [9.0], [4.0], [0.0], [8.0], [2.0], [6.0]])
    if not torch.equal(expected, truth):
        return 125, "the workaround path fails too: an index of two columns picks wrong elements"
    if torch.equal(got, truth):
        return 0, "an index of one column picks the right elements"
    return 1, "an index of one column: " + where_off(got, truth)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
