# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#143847"]
# relation = "sibling"
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
"""Clones a column that was expanded to two columns with the preserve format. The copy should order its axes in memory
as the source does, by falling stride. Instead the zero stride makes the copy fall back to row-major order."""

import os
import sys

PLANT = os.environ.get("EMBERS_PLANT") == "1"


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    column = torch.arange(2.0).reshape(2, 1)
    wide = column.expand(2, 2)
    got = wide.clone(memory_format=torch.preserve_format).stride()
    if PLANT:
        got = (2, 1)
    turned = torch.arange(4.0).reshape(2, 2).t()
    if turned.clone(memory_format=torch.preserve_format).stride() != (1, 2):
        return 125, "the workaround path fails too: not even a transposed view keeps its strides"
    if got[0] < got[1] or got == wide.stride():
        return 0, "the copy follows the order of the source: %s" % (got,)
    return 1, "source strides %s, strides of the copy %s" % (wide.stride(), got)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
