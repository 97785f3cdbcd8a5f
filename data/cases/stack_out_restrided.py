# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = []
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
"""Stacks one vector into a destination whose stacked axis has length one and, as any axis of length one may, an odd
stride. The vector must stand there afterwards. Instead it is written elsewhere, and the destination keeps what it
held."""

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

    vector = torch.tensor([1.0, 2.0, 3.0])
    memory = torch.full((64,), 77.0)
    out = memory.as_strided((3, 1), (1, 7))
    torch.stack([vector], 1, out=out)
    out = spoil(out)
    dense = torch.zeros(3, 1)
    torch.stack([vector], 1, out=dense)
    if not torch.equal(dense[:, 0], vector):
        return 125, "the workaround path fails too: a dense destination holds %s" % dense.tolist()
    if torch.equal(out[:, 0], vector):
        return 0, "the destination holds %s" % out[:, 0].tolist()
    return 1, "the destination holds %s instead of %s" % (out[:, 0].tolist(), vector.tolist())


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
