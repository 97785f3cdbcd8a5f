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
"""Writes gelu of a matrix into a transposed destination. The values must stand there afterwards. Instead a copy is
computed that is never copied back, and the destination keeps what it held."""

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
    matrix = torch.arange(100.0).view(10, 10) / 50 - 1
    truth = (matrix.double() * (1 + torch.erf(matrix.double() / 2**0.5)) / 2).float()
    out = torch.zeros(10, 10).t()
    torch._C._nn.gelu(matrix, out=out)
    out = spoil(out)
    dense = torch.zeros(10, 10)
    torch._C._nn.gelu(matrix, out=dense)
    if (dense - truth).abs().max() > 1e-6:
        return 125, "the workaround path fails too: a dense destination holds other values"
    off = (out - truth).abs().max().item()
    if off <= 1e-6:
        return 0, "the transposed destination holds the values"
    return 1, "the transposed destination is off by up to %.3g; %d elements are as before" % (
        off,
        int((out == 0).sum()),
    )


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
