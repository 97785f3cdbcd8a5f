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
"""Pools a volume into an output that takes every second element of a bigger buffer along each axis. The averages
must appear in those elements. Instead they fill the first cells of the buffer, and most of the output keeps its
old content."""

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

    pool = torch._C._nn.avg_pool3d
    volume = torch.arange(64.0).reshape(1, 4, 4, 4)
    buffer = torch.full((2, 4, 4, 4), -1.0)
    pool(volume, 2, 2, out=buffer[::2, ::2, ::2, ::2])
    buffer = spoil(buffer)
    dense = torch.full((1, 2, 2, 2), -1.0)
    pool(volume, 2, 2, out=dense)
    blocks = volume.reshape(1, 2, 2, 2, 2, 2, 2).mean((2, 4, 6))
    truth = torch.full((2, 4, 4, 4), -1.0)
    truth[::2, ::2, ::2, ::2] = blocks
    if not torch.allclose(dense, blocks):
        return 125, "the workaround path fails too: a dense output holds other averages"
    if torch.allclose(buffer, truth):
        return 0, "the strided output holds the averages, and nothing else was touched"
    return 1, "the buffer under the strided output is " + where_off(buffer, truth)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
