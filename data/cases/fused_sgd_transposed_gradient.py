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
"""Takes one fused step of SGD on the CPU with a transposed gradient for a dense parameter. Each element must move by
the gradient at its own place. Instead the gradient is read in the order of memory."""

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
    gradient = torch.arange(16.0).view(4, 4).t()

    def stepped(values):
        parameter = torch.nn.Parameter(torch.zeros(4, 4))
        parameter.grad = values
        torch.optim.SGD([parameter], lr=0.1, fused=True).step()
        return parameter.detach()

    got = stepped(gradient)
    got = spoil(got)
    truth = -0.1 * gradient
    if (stepped(gradient.contiguous()) - truth).abs().max() > 1e-6:
        return 125, "the workaround path fails too: a dense gradient gives another step"
    off = (got - truth).abs().max().item()
    if off <= 1e-6:
        return 0, "the parameter took the step of its gradient"
    return 1, "the step is off by up to %.3g; it is that of the gradient in the order of memory" % off


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
