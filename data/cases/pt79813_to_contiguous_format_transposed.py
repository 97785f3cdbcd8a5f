# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#79813"]
# relation = "same"
# bug_type = "memory"
# memory_type = "memory_format"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Asks for the contiguous format of a transposed matrix. Row-major strides should come back. Instead the call returns
the very same tensor, with its column-major strides."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = ((1, 4), False)
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    source = torch.arange(12.0).reshape(3, 4).t()
    converted = source.to(memory_format=torch.contiguous_format)
    got = (converted.stride(), converted.is_contiguous())
    got = spoil(got)
    dense = source.contiguous()
    if dense.stride() != (3, 1) or not torch.equal(dense, source):
        return 125, "the workaround path fails too: contiguous() gives strides %s" % (dense.stride(),)
    if got == ((3, 1), True):
        return 0, "the matrix is row-major after the call"
    return 1, "after to(contiguous_format) the strides are %s and is_contiguous() says %s" % got


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
