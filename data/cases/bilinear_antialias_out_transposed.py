# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = []
# bug_type = "memory"
# memory_type = "non_contiguous"
# memory_subtype = "input_tensor_management"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0",
#     "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Shrinks an image by bilinear interpolation with antialiasing, by the operator of the dispatcher, into a transposed
destination. The values must be those of a dense one. Instead they are written in the order of memory, to other
places."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed + 1
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    image = torch.arange(16.0).view(1, 1, 4, 4)
    out = torch.zeros(1, 1, 3, 3).transpose(2, 3)
    torch.ops.aten._upsample_bilinear2d_aa.out(image, [3, 3], False, out=out)
    out = spoil(out)
    wide = torch.nn.functional.interpolate(image.double(), (3, 3), mode="bilinear", antialias=True).float()
    dense = torch.zeros(1, 1, 3, 3)
    torch.ops.aten._upsample_bilinear2d_aa.out(image, [3, 3], False, out=dense)
    if (dense - wide).abs().max() > 1e-5:
        return 125, "the workaround path fails too: a dense destination holds other values"
    off = (out - wide).abs().max().item()
    if off <= 1e-5:
        return 0, "the transposed destination holds the values"
    return 1, "the transposed destination is off by up to %.3g" % off


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
