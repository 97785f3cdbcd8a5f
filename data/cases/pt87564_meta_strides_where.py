# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#87564"]
# relation = "sibling"
# bug_type = "memory"
# memory_type = "non_contiguous"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = ["1.13.1"]
# fixed_in = "2.0.1"
# signature = "mismatch"
# oracle = "self"
# ///
"""Selects between a transposed tensor and a scalar by a mask of plain layout, once for real and once on the meta
device. Both must agree on the strides. Instead the meta result follows the transposed operand while the real one
follows the mask."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = (9, 9)
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    def strides(operation, *inputs):
        return operation(*inputs).stride()

    def on_meta(operation, *inputs):
        return strides(operation, *[tensor.to("meta") for tensor in inputs])

    mask = torch.arange(25).reshape(5, 5) % 2 == 0
    turned = torch.rand(5, 5).t()

    def choose(mask, values):
        return torch.where(mask, values, torch.zeros((), device=values.device))

    real, planned = strides(choose, mask, turned), on_meta(choose, mask, turned)
    planned = spoil(planned)
    dense = turned.contiguous()
    if strides(choose, mask, dense) != on_meta(choose, mask, dense):
        return 125, "the workaround path fails too: dense operands disagree as well"
    if real == planned:
        return 0, "real and meta strides agree: %s" % (real,)
    return 1, "real strides %s, meta strides %s" % (real, planned)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
