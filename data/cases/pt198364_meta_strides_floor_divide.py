# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#198364"]
# relation = "same"
# bug_type = "memory"
# memory_type = "memory_format"
# memory_subtype = "stride_calculation_manually"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0",
#     "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Divides and floors, and copies signs, with a transposed first operand, once for real and once on the meta device that
the compiler plans with. Both must agree on the strides. Instead the meta tensors are row-major where the real
results follow the transposed operand."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = (6, 1)
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    def strides(operation, *inputs):
        return operation(*inputs).stride()

    def on_meta(operation, *inputs):
        return strides(operation, *[tensor.to("meta") for tensor in inputs])

    turned = torch.rand(6, 5).t()
    dense = torch.rand(5, 6) + 1
    if on_meta(torch.add, turned, dense) != strides(torch.add, turned, dense):
        return 125, "the workaround path fails too: a plain sum disagrees as well"
    wrong = []
    for name in ("floor_divide", "copysign"):
        real, planned = strides(getattr(torch, name), turned, dense), on_meta(getattr(torch, name), turned, dense)
        planned = spoil(planned)
        if real != (1, 5):
            return 125, "another failure: the real result of %s has strides %s" % (name, real)
        if real != planned:
            wrong.append("%s: real %s, meta %s" % (name, real, planned))
    if not wrong:
        return 0, "real and meta strides agree"
    return 1, "; ".join(wrong)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
