# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = []
# bug_type = "memory"
# memory_type = "non_contiguous"
# memory_subtype = "input_tensor_management"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = ["1.13.1", "2.0.1"]
# fixed_in = "2.1.2"
# signature = "mismatch"
# oracle = "self"
# ///
"""Pads a signal by its ends into a destination that is every second element of a larger memory. The padded signal must
stand in these elements only. Instead the elements between are overwritten."""

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
    signal = torch.arange(4.0).view(1, 1, 4)
    truth = signal[:, :, [0, 0, 1, 2, 3, 3]]
    memory = torch.full((100,), 77.0)
    torch._C._nn.replication_pad1d(signal, [1, 1], out=memory.as_strided((1, 1, 6), (12, 12, 2)))
    memory = spoil(memory)
    got, between = memory[0:12:2].view(1, 1, 6), memory[1:12:2]
    dense = torch.zeros(1, 1, 6)
    torch._C._nn.replication_pad1d(signal, [1, 1], out=dense)
    if not torch.equal(dense, truth):
        return 125, "the workaround path fails too: a dense destination holds other values"
    wrong = int((got != truth).sum())
    around = int((between != 77).sum() + (memory[12:] != 77).sum())
    seen = "%d of 6 elements are wrong, %d around them are overwritten" % (wrong, around)
    return int(bool(wrong or around)), seen


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
