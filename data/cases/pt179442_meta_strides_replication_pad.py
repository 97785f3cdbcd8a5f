# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#179442"]
# relation = "sibling"
# bug_type = "memory"
# memory_type = "memory_format"
# memory_subtype = "channel_management"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0", "2.12.1",
#     "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Pads a channels-last image by repeating its rim, once for real and once on the meta device. Both must agree on the
strides. On the CPU the real output keeps channels-last; the meta output is dense, as if it were made on another
device."""

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

    def strides(operation, *inputs):
        return operation(*inputs).stride()

    def on_meta(operation, *inputs):
        return strides(operation, *[tensor.to("meta") for tensor in inputs])

    def pad(image):
        return torch.nn.functional.pad(image, (1, 1, 1, 1), mode="replicate")

    image = torch.randn(2, 3, 4, 5)
    last = image.contiguous(memory_format=torch.channels_last)
    if not torch.equal(pad(last), pad(image)):
        return 125, "the workaround path fails too: the real numbers depend on the layout"
    real, planned = strides(pad, last), on_meta(pad, last)
    planned = spoil(planned)
    if strides(pad, image) != on_meta(pad, image):
        return 125, "the workaround path fails too: a dense image disagrees as well"
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
