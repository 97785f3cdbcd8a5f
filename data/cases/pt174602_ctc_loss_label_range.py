# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#174602", "pytorch/pytorch#193794"]
# relation = "sibling"
# bug_type = "memory"
# memory_type = "indexing"
# memory_subtype = "invalid_memory_access"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = ["mismatch", "SIGSEGV", "SIGABRT"]
# oracle = "self"
# ///
"""Computes the CTC loss of a label that does not exist: number five of three. The label should be refused. Instead
the CPU kernel uses it to address the probabilities, and the loss follows the memory beside them."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = (0.0, 1.0)
    return observed


def is_refusal(error):
    """True where error is the refusal that is due here, by its type and its words."""
    return isinstance(error, (RuntimeError, ValueError, IndexError)) and any(
        words in str(error) for words in ("label", "target")
    )


def result_beside(torch, neighbour):
    """Return the result of the call on a tensor that lies inside an arena filled with `neighbour`."""
    arena = torch.full((64,), neighbour)
    arena[8:14] = -1.0
    log_probabilities = arena[8:14].view(2, 1, 3)
    lengths = torch.tensor([2]), torch.tensor([1])
    return torch.nn.functional.ctc_loss(log_probabilities, torch.tensor([[5]]), *lengths).item()


def result_of_valid(torch):
    """True where the loss of a valid label is known: three paths of probability exp(-2) each."""
    lengths = torch.tensor([2]), torch.tensor([1])
    loss = torch.nn.functional.ctc_loss(torch.full((2, 1, 3), -1.0), torch.tensor([[1]]), *lengths).item()
    return abs(loss - (2.0 - 1.0986123)) < 1e-4


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
        return 0, "label five of three: refused by %s" % type(beside).__name__
    if beside[0] != beside[1]:
        return 1, "label five of three: the result follows foreign memory (%g, then %g)" % beside
    return 0, "label five of three: the result is independent of foreign memory"


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
