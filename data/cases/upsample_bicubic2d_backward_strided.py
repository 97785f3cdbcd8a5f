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
"""Writes the gradient of bicubic up-sampling into a destination that is every second element of a larger memory. The
gradient must stand in these elements only. Instead it is written one element behind the other, over the elements
between."""

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
    ones, sizes = torch.ones(1, 1, 8, 8), ([8, 8], [1, 1, 4, 4])
    leaf = torch.zeros(1, 1, 4, 4, dtype=torch.float64, requires_grad=True)
    torch.nn.functional.interpolate(leaf, (8, 8), mode="bicubic").sum().backward()
    truth = leaf.grad.float()
    memory = torch.full((100,), 77.0)
    torch.ops.aten.upsample_bicubic2d_backward.grad_input(
        ones, *sizes, False, None, None, grad_input=memory.as_strided((1, 1, 4, 4), (32, 32, 8, 2))
    )
    memory = spoil(memory)
    got, between = memory[0:32:2].view(1, 1, 4, 4), memory[1:32:2]
    dense = torch.zeros(1, 1, 4, 4)
    torch.ops.aten.upsample_bicubic2d_backward.grad_input(ones, *sizes, False, None, None, grad_input=dense)
    if not (dense - truth).abs().max() <= 1e-5:
        return 125, "the workaround path fails too: a dense destination holds other values"
    wrong = int(((got - truth).abs() > 1e-5).sum())
    around = int((between != 77).sum() + (memory[32:] != 77).sum())
    seen = "%d of 16 elements are wrong, %d around them are overwritten" % (wrong, around)
    return int(bool(wrong or around)), seen


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
