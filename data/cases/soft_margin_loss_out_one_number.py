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
"""Writes the mean of a soft margin loss into one number of a larger memory. The mean must stand there and nothing else
may be touched. Instead the terms are first written one behind the other from that number on, into what lies behind
it."""

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
    scores, marks = torch.tensor([0.1, -0.2, 0.3, 0.4]), torch.tensor([1.0, -1.0, 1.0, -1.0])
    truth = (1 + (-marks * scores).double().exp()).log().mean().item()
    memory = torch.full((64,), 77.0)
    torch._C._nn.soft_margin_loss(scores, marks, 1, out=memory[5])
    memory = spoil(memory)
    dense = torch.zeros(4)
    torch._C._nn.soft_margin_loss(scores, marks, 0, out=dense)
    if abs(dense.mean().item() - truth) > 1e-6:
        return 125, "the workaround path fails too: the terms without a mean are %s" % dense.tolist()
    around = int((memory[:5] != 77).sum() + (memory[6:] != 77).sum())
    if abs(memory[5].item() - truth) <= 1e-6 and not around:
        return 0, "the mean is %.6f, and nothing around it is touched" % memory[5].item()
    return 1, "the mean is %.6f instead of %.6f, %d elements around it are overwritten" % (
        memory[5].item(),
        truth,
        around,
    )


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
