# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#194799"]
# relation = "same"
# bug_type = "memory"
# memory_type = "checking"
# memory_subtype = "input_checking"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = ["mismatch", "SIGSEGV", "SIGABRT"]
# oracle = "self"
# ///
"""Runs the backward of log-softmax on CPU with a saved output of one element for a gradient of four. The sizes
should be compared, as the softmax twin does. Instead the kernel reads on behind the output, so the result follows
what lies there."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = (0.0, 1.0)
    return observed


def is_refusal(error):
    """True where error is the refusal that is due here, by its type and its words."""
    return isinstance(error, (RuntimeError, ValueError, IndexError)) and "output" in str(error)


def result_beside(torch, neighbour):
    """Return the result of the call on a tensor that lies inside an arena filled with `neighbour`."""
    arena = torch.full((64,), neighbour)
    arena[8] = 0.0
    output = arena[8:9].view(1, 1)
    return torch.ops.aten._log_softmax_backward_data(torch.ones(1, 4), output, 1, torch.float32).sum().item()


def result_of_valid(torch):
    """True where the backward of equal sizes is as computed by hand: g - exp(out) * sum(g) is zero here."""
    output = torch.log_softmax(torch.zeros(1, 4), 1)
    seen = torch.ops.aten._log_softmax_backward_data(torch.ones(1, 4), output, 1, torch.float32)
    return seen.abs().max().item() < 1e-5


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    if not result_of_valid(torch):
        return 125, "the workaround path fails too: a valid call gives wrong numbers"
    try:
        beside = result_beside(torch, 1.0), result_beside(torch, 2.0)
    except (RuntimeError, ValueError, IndexError) as refusal:
        if not is_refusal(refusal):
            raise
        beside = refusal
    beside = spoil(beside)
    if isinstance(beside, Exception):
        return 0, "a saved output of one element for four gradients: refused by %s" % type(beside).__name__
    if beside[0] != beside[1]:
        return (
            1,
            "a saved output of one element for four gradients: the result follows foreign memory (%g, then %g)"
            % beside,
        )
    return (
        0,
        "a saved output of one element for four gradients: the result is independent of foreign memory",
    )


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
