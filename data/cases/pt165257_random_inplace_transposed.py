# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#165257", "pytorch/pytorch#165267", "pytorch/pytorch#124029"]
# relation."pytorch/pytorch#165257" = "unknown"
# relation."pytorch/pytorch#165267" = "same"
# relation."pytorch/pytorch#124029" = "sibling"
# bug_type = "memory"
# memory_type = "non_contiguous"
# memory_subtype = "input_tensor_management"
# consequence = "silent_correctness"
# requires = ["mps"]
# known_bad = []
# signature = "mismatch"
# oracle = "self"
# ///
"""Fills a matrix that lies transposed in memory with random numbers, by each of the in-place samplers. Every element
must be drawn. Instead the numbers go to a packed buffer that nobody copies back, and the matrix keeps its old
content."""

import os
import sys

DEVICE = "mps"


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = 600
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    if not torch.backends.mps.is_available():
        return 125, "no MPS device here"
    samplers = {
        "uniform_": lambda x: x.uniform_(1, 2),
        "normal_": lambda x: x.normal_(5, 0.1),
        "exponential_": lambda x: x.exponential_(),
        "bernoulli_": lambda x: x.bernoulli_(0.5),
        "random_": lambda x: x.random_(1, 100),
    }

    def untouched(sampler, matrix):
        sampler(matrix)
        return int((matrix.cpu() == -7).sum())

    for name, sampler in samplers.items():
        if untouched(sampler, torch.full((20, 30), -7.0, device=DEVICE)):
            return 125, "the workaround path fails too: %s leaves elements of a dense matrix" % name
    for name, sampler in samplers.items():
        left = untouched(sampler, torch.full((30, 20), -7.0, device=DEVICE).t())
        left = spoil(left)
        if left:
            return 1, "%s left %d of 600 elements of the transposed matrix as they were" % (name, left)
    return 0, "every sampler filled the transposed matrix"


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
