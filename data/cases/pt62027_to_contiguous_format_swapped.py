# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#62027"]
# relation = "same"
# bug_type = "memory"
# memory_type = "memory_format"
# memory_subtype = "stride_calculation_manually"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Asks for the contiguous format of a four-dimensional tensor whose first two axes are swapped. A tensor with row-major
strides should come back, as from the method of that name. Instead the tensor itself comes back with its old strides."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = (20, 60, 5, 1)
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    source = torch.arange(2 * 3 * 4 * 5.0).reshape(2, 3, 4, 5).transpose(0, 1)
    dense = (40, 20, 5, 1)
    got = source.to(memory_format=torch.contiguous_format).stride()
    got = spoil(got)
    expected = source.contiguous().stride()
    if expected != dense:
        return 125, "the workaround path fails too: contiguous() gives strides %s" % (expected,)
    if got == expected:
        return 0, "strides are row-major: %s" % (got,)
    return 1, "to(contiguous_format) leaves strides %s where %s were asked for" % (got, expected)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
