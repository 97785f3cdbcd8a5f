# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = []
# bug_type = "memory"
# memory_type = "memory_format"
# memory_subtype = "channel_management"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Writes the upper triangles of a batch into a destination of four axes whose batch axes have strides that one number
cannot stand for, as channels_last gives them. The triangles must appear there and nothing else may be touched.
Instead the kernel steps through the batch by one stride, and also writes outside the destination."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed + 1
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    matrices = torch.arange(1.0, 51.0).view(2, 1, 5, 5)
    truth = torch.stack([torch.triu(matrix) for matrix in matrices.view(2, 5, 5)]).view(2, 1, 5, 5)
    memory = torch.full((100,), 77.0)
    out = torch.triu(matrices, out=memory.as_strided((2, 1, 5, 5), (1, 2, 2, 10)))
    memory = spoil(memory)
    dense = torch.empty(2, 1, 5, 5)
    torch.triu(matrices, out=dense)
    if not torch.equal(dense, truth):
        return 125, "the workaround path fails too: a dense destination holds other triangles"
    wrong, around = int((out != truth).sum()), int((memory[50:] != 77).sum())
    seen = "%d of 50 elements of the destination are wrong, %d outside it are overwritten" % (wrong, around)
    return int(bool(wrong or around)), seen


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
