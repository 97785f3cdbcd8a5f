# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#171622"]
# relation = "sibling"
# bug_type = "memory"
# memory_type = "memory_format"
# memory_subtype = "channel_management"
# consequence = "runtime_error"
# requires = ["cpu"]
# known_bad = ["2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0"]
# fixed_in = "2.11.0"
# signature = "mismatch"
# oracle = "self"
# ///
"""Asks for the input gradient of a convolution whose tensors are all channels-last, once for real and once on the meta
device that the compiler plans with. Both must agree on the strides. Instead the meta rule always plans the default
layout."""

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

    last = torch.channels_last
    upstream = torch.randn(2, 4, 3, 3).contiguous(memory_format=last)
    image = torch.randn(2, 3, 5, 5).contiguous(memory_format=last)
    weight = torch.randn(4, 3, 3, 3).contiguous(memory_format=last)

    def backward(upstream, image, weight):
        operator = torch.ops.aten.convolution_backward.default
        window, wanted = ([1, 1], [0, 0], [1, 1], False, [0, 0], 1), [True, True, False]
        return operator(upstream, image, weight, None, *window, wanted)[0]

    real, planned = strides(backward, upstream, image, weight), on_meta(backward, upstream, image, weight)
    planned = spoil(planned)
    dense = [tensor.contiguous() for tensor in (upstream, image, weight)]
    if strides(backward, *dense) != on_meta(backward, *dense):
        return 125, "the workaround path fails too: dense tensors disagree as well"
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
