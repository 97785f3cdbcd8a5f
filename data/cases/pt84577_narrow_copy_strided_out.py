# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#84577"]
# relation = "same"
# bug_type = "memory"
# memory_type = "non_contiguous"
# memory_subtype = "input_tensor_management"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Copies two rows of a matrix into an output that covers every second column of a wider buffer. The rows must appear
in those columns only. Instead they are written as one dense run over the start of the buffer, and the columns
between are overwritten."""

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

    matrix = torch.arange(16.0).reshape(4, 4)
    buffer = torch.full((2, 8), -1.0)
    torch.narrow_copy(matrix, 0, 1, 2, out=buffer[:, ::2])
    buffer = spoil(buffer)
    dense = torch.full((2, 4), -1.0)
    torch.narrow_copy(matrix, 0, 1, 2, out=dense)
    truth = torch.full((2, 8), -1.0)
    truth[:, ::2] = matrix[1:3]
    if not torch.equal(dense, matrix[1:3]):
        return 125, "the workaround path fails too: a dense output holds other rows"
    if torch.equal(buffer, truth):
        return 0, "the strided output holds the rows, and nothing else was touched"
    return 1, "the buffer under the strided output is " + where_off(buffer, truth)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
