# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#193671"]
# relation = "unknown"
# bug_type = "memory"
# memory_type = "initialization"
# memory_subtype = "order"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0", "2.12.1",
#     "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Differentiates RReLU under a checkpoint that is not reentrant. The gradient is the slope of the forward call, output
over input, as without the checkpoint. Instead the noise is kept before it is filled, and the recomputation stops there:
the gradient is made from memory that was never written."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed * 0 + 9
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    from torch.utils.checkpoint import checkpoint

    layer = torch.nn.RReLU()

    def slopes(call):
        torch.manual_seed(0)
        numbers = torch.full((64,), -2.0, dtype=torch.float64, requires_grad=True)
        output = call(numbers)
        foreign = torch.full((64,), 77.0, dtype=torch.float64)
        del foreign  # the allocator hands this memory out again, so that elements that were never written show
        output.sum().backward()
        return numbers.grad, (output / numbers).detach()

    got, truth = slopes(lambda numbers: checkpoint(layer, numbers, use_reentrant=False))
    got = spoil(got)
    plain, expected = slopes(layer)
    if not torch.allclose(plain, expected) or not torch.allclose(truth, expected):
        return 125, "the workaround path fails too: without a checkpoint the gradient is not the slope"
    if torch.allclose(got, truth):
        return 0, "the gradient is the slope of the forward call"
    return 1, "the gradient begins with %s, the slopes with %s" % (got[:2].tolist(), truth[:2].tolist())


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
