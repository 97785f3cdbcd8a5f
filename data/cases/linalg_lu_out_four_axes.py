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
"""Factors a batch of matrices into destinations of four axes for L and U, whose batch axes have strides that one
number cannot stand for. The factors must appear there, and nothing else may be touched. Instead the lower triangles
are written by one stride for the batch: L is wrong, and memory outside it is overwritten."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = [out + 1 for out in observed]
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    matrices = (torch.arange(50.0).sin().view(2, 1, 5, 5) + 4 * torch.eye(5)).double()
    pivots, lower, upper = torch.linalg.lu(matrices)
    memories = [torch.full((100,), 77.0, dtype=torch.float64) for _ in range(2)]
    laid = ((2, 1, 5, 5), (1, 2, 2, 10))
    first, second = memories
    outs = (torch.zeros_like(pivots), first.as_strided(*laid), second.as_strided(*laid))
    outs = torch.linalg.lu(matrices, out=outs)
    outs = spoil(outs)
    if (pivots @ lower @ upper - matrices).abs().max() > 1e-12:
        return 125, "the workaround path fails too: the dense factors do not give the matrices"
    wrong = [int((outs[1] != lower).sum()), int((outs[2] != upper).sum())]
    around = [int((memory[50:] != 77).sum()) for memory in memories]
    seen = "L and U have %s wrong elements, %s elements outside them are overwritten" % (wrong, around)
    return int(any(wrong + around)), seen


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
