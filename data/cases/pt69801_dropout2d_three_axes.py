# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#69801"]
# relation = "same"
# bug_type = "logical"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Drops whole channels of one image without a batch axis, as the module's description offers. Each channel should be
kept or zeroed as a whole. Instead the first axis is taken for the batch and single rows are dropped."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = 16
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.manual_seed(0)
    image = torch.ones(16, 5, 5)
    dropped = torch.nn.functional.dropout2d(image, 0.5, training=True)
    mixed = sum(1 for channel in dropped if len(channel.unique()) > 1)
    mixed = spoil(mixed)
    batch = torch.nn.functional.dropout2d(image[None], 0.5, training=True)[0]
    if any(len(channel.unique()) > 1 for channel in batch) or len(batch.unique()) != 2:
        return 125, "the workaround path fails too: with a batch axis channels are not dropped as a whole"
    if not mixed:
        return 0, "each channel is kept or dropped as a whole"
    return 1, "%d of 16 channels are dropped in part" % mixed


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
