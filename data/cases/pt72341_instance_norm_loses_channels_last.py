# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#72341", "pytorch/pytorch#67976"]
# relation = "same"
# bug_type = "memory"
# memory_type = "memory_format"
# memory_subtype = "channel_management"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Normalises each channel of a channels-last image. As after batch or group normalisation, the output should be
channels-last too. Instead it is dense in the default order, so that the next convolution has to convert it back; the
numbers are right."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = False
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.manual_seed(0)
    image = torch.randn(2, 8, 5, 6).to(memory_format=torch.channels_last)
    module = torch.nn.InstanceNorm2d(8)
    kept = module(image).is_contiguous(memory_format=torch.channels_last)
    kept = spoil(kept)
    flat = image.reshape(16, 1, 5, 6)
    truth = torch.nn.functional.batch_norm(flat.transpose(0, 1), None, None, training=True).reshape(2, 8, 5, 6)
    if not torch.allclose(module(image.contiguous()), truth, atol=1e-4):
        return 125, "the workaround path fails too: the dense image is normalised wrongly"
    if not torch.nn.BatchNorm2d(8)(image).is_contiguous(memory_format=torch.channels_last):
        return 125, "the workaround path fails too: batch normalisation loses the format as well"
    if kept:
        return 0, "the output is channels-last"
    return 1, "the output of InstanceNorm2d has strides %s" % (module(image).stride(),)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
