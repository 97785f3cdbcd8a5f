# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = []
# bug_type = "memory"
# memory_type = "non_contiguous"
# memory_subtype = "input_tensor_management"
# consequence = "silent_correctness"
# requires = ["cpu", "torch>=2.4"]
# known_bad = [
#     "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0", "2.12.1", "2.13.0", "2.14.1",
#     "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Takes one fused step of AdamW on the CPU with a parameter that is every second column of a wider memory. Each
element of the parameter must take the step, and its neighbours must stay. Instead memory is walked element by
element, so that neighbours change and elements of the parameter are left out."""

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

    def stepped(memory):
        parameter = torch.nn.Parameter(memory[:, ::2])
        parameter.grad = torch.ones(4, 4)
        torch.optim.AdamW([parameter], lr=0.1, fused=True).step()
        return memory

    memory = stepped(torch.zeros(4, 8))
    memory = spoil(memory)
    dense = torch.nn.Parameter(torch.zeros(4, 4))
    dense.grad = torch.ones(4, 4)
    torch.optim.AdamW([dense], lr=0.1, fused=True).step()
    if (dense + 0.1).abs().max() > 1e-6:
        return 125, "the workaround path fails too: a dense parameter steps to %s" % dense.flatten()[:2].tolist()
    wrong = int(((memory[:, ::2] - dense).abs() > 1e-6).sum())
    around = int((memory[:, 1::2] != 0).sum())
    seen = "%d of 16 elements of the parameter are wrong, %d of its neighbours are changed" % (wrong, around)
    return int(bool(wrong or around)), seen


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
