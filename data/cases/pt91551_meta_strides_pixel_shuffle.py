# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#91551"]
# relation = "same"
# bug_type = "memory"
# memory_type = "memory_format"
# memory_subtype = "channel_management"
# consequence = "runtime_error"
# requires = ["cpu"]
# known_bad = ["1.13.1"]
# fixed_in = "2.0.1"
# signature = "mismatch"
# oracle = "self"
# ///
"""Shuffles channels of a channels-last image into pixels, once for real and once with fake tensors, as the compiler
does while it plans. Both must agree on the strides, for the compiled code asserts them. Instead the real output keeps
channels-last and the planned one is dense."""

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
    from torch._subclasses.fake_tensor import FakeTensorMode

    def strides(operation, *inputs):
        return operation(*inputs).stride()

    def planning(operation, *inputs):
        with FakeTensorMode() as mode:
            return strides(operation, *[mode.from_tensor(tensor) for tensor in inputs])

    def shuffle(image):
        return torch.nn.functional.pixel_shuffle(image, 2)

    image = torch.randn(2, 12, 4, 5)
    last = image.contiguous(memory_format=torch.channels_last)
    if not torch.equal(shuffle(last), shuffle(image)):
        return 125, "the workaround path fails too: the real numbers depend on the layout"
    real, planned = strides(shuffle, last), planning(shuffle, last)
    planned = spoil(planned)
    if strides(shuffle, image) != planning(shuffle, image):
        return 125, "the workaround path fails too: a dense image disagrees as well"
    if real == planned:
        return 0, "real and planned strides agree: %s" % (real,)
    return 1, "real strides %s, planned strides %s" % (real, planned)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
