# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#75281", "pytorch/pytorch#166856"]
# relation."pytorch/pytorch#75281" = "same"
# relation."pytorch/pytorch#166856" = "sibling"
# bug_type = "memory"
# memory_type = "non_contiguous"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Fills a dense matrix and a transposed one of the same shape with normal numbers from equal generator states. Equal
shapes and equal states should give equal samples, as they do for a matrix that skips rows. Instead the transposed
one gets other numbers."""

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

    def sample(matrix):
        return matrix.normal_(generator=torch.Generator().manual_seed(7))

    expected = sample(torch.zeros(3, 5))
    got = sample(torch.zeros(5, 3).t())
    got = spoil(got)
    again = sample(torch.zeros(6, 5)[::2])
    if not torch.equal(again, expected):
        return 125, "the workaround path fails too: a slice of rows does not repeat the samples of a dense matrix"
    if torch.equal(got, expected):
        return 0, "a transposed matrix gets the samples of a dense one"
    return 1, "the samples of a transposed matrix are " + where_off(got, expected)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
