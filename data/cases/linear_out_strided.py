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
"""Applies a linear layer to one vector, into a destination that is every second element of a larger memory. The values
must stand in these elements only. Instead the destination is given other strides, and the elements between are
overwritten."""

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
    weight, vector, bias = torch.arange(15.0).view(5, 3), torch.tensor([1.0, 2.0, 3.0]), torch.ones(5)
    truth = torch.tensor([9.0, 27.0, 45.0, 63.0, 81.0])
    memory = torch.full((64,), 77.0)
    out = torch._C._nn.linear(vector, weight, bias, out=memory[0:10:2])
    memory = spoil(memory)
    dense = torch.zeros(5)
    torch._C._nn.linear(vector, weight, bias, out=dense)
    if not torch.equal(dense, truth):
        return 125, "the workaround path fails too: a dense destination holds %s" % dense.tolist()
    wrong, around = int((memory[0:10:2] != truth).sum()), int((memory[1:10:2] != 77).sum())
    seen = "%d of 5 elements are wrong, %d between them are overwritten, strides 2 became %s" % (
        wrong,
        around,
        out.stride(),
    )
    return int(bool(wrong or around)), seen


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
