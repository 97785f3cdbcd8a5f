# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = []
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
"""Drops channels in place of a lazily negated tensor of four axes that is transposed. An operation in place must leave
the strides of its tensor as they are. Instead the tensor has other strides afterwards."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed[::-1]
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.manual_seed(0)

    def dropped(values):
        before = values.stride()
        torch.nn.functional.dropout3d(values, 0.5, True, True)
        return before, values.stride()

    before, after = dropped(torch._neg_view(torch.ones(2, 3, 4, 5)).transpose(2, 3))
    after = spoil(after)
    own, kept = dropped(torch.ones(2, 3, 4, 5))
    if own != kept:
        return 125, "the workaround path fails too: strides %s of a dense tensor became %s" % (own, kept)
    if after == before:
        return 0, "the strides are %s as before" % (before,)
    return 1, "the strides %s became %s" % (before, after)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
