# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#187173"]
# relation = "same"
# bug_type = "memory"
# memory_type = "memory_format"
# memory_subtype = "channel_management"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = ["2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0", "2.12.1", "2.13.0"]
# fixed_in = "2.14.1"
# signature = "mismatch"
# oracle = "self"
# ///
"""Undoes a pooling of a channels-last image by the replacement of max_unpool2d that the compiler uses. As with the
operator itself, the result should be channels-last on the CPU. Instead it is dense in the default order."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = (9, 9, 9, 9)
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    try:
        from torch._decomp import decomposition_table
    except ImportError:
        return 125, "this release has no torch._decomp"
    operator = torch.ops.aten.max_unpool2d.default
    if operator not in decomposition_table:
        return 125, "this release does not decompose max_unpool2d"
    replacement = decomposition_table[operator]
    torch.manual_seed(0)
    dense = torch.nn.functional.max_pool2d(torch.randn(2, 3, 4, 6), 2, return_indices=True)
    last = [tensor.contiguous(memory_format=torch.channels_last) for tensor in dense]
    if not torch.equal(replacement(*last, [4, 6]), operator(*dense, [4, 6])):
        return 125, "the workaround path fails too: the numbers of the replacement are wrong"
    if replacement(*dense, [4, 6]).stride() != operator(*dense, [4, 6]).stride():
        return 125, "the workaround path fails too: the strides differ for a dense image as well"
    expected, got = operator(*last, [4, 6]).stride(), replacement(*last, [4, 6]).stride()
    got = spoil(got)
    if got == expected:
        return 0, "operator and replacement agree: %s" % (got,)
    return 1, "the operator gives strides %s, its replacement %s" % (expected, got)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
