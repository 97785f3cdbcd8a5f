# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#107702"]
# relation = "sibling"
# bug_type = "data_type"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0", "2.14.1",
# ]
# fixed_in = "2.15.0"
# signature = "mismatch"
# oracle = "self"
# ///
"""Clamps unsigned bytes from below at minus one. Nothing should change, or the bound be refused. Instead the bound
wraps around to 255 and every element becomes that."""

import os
import sys

PLANT = os.environ.get("EMBERS_PLANT") == "1"


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    values = torch.tensor([0, 100, 255], dtype=torch.uint8)
    if torch.clamp(values.to(torch.int16), min=-1).tolist() != [0, 100, 255]:
        return 125, "the workaround path fails too: wider integers are clamped wrongly"
    try:
        got = torch.clamp(values, min=-1).tolist()
    except RuntimeError as error:
        if not PLANT:
            return 0, "refused: %s" % str(error)[:80]
        got = [255, 255, 255]
    if PLANT:
        got = [255, 255, 255]
    if got == [0, 100, 255]:
        return 0, "the bytes are unchanged"
    return 1, "clamped at -1 the bytes 0, 100, 255 become %s" % got


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
