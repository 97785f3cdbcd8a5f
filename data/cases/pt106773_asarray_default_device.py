# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#106773"]
# relation = "sibling"
# bug_type = "device_management"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = ["2.0.1"]
# fixed_in = "2.1.2"
# signature = "mismatch"
# oracle = "self"
# ///
"""Sets a default device and makes a tensor from a list with asarray. It should lie on that device, as one made by
tensor() does. Instead it lies on the CPU."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = "cpu"
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    if not hasattr(torch, "set_default_device"):
        return 125, "this release has no torch.set_default_device"
    torch.set_default_device("meta")
    got = torch.asarray([1.0, 2.0]).device.type
    got = spoil(got)
    if torch.tensor([1.0, 2.0]).device.type != "meta":
        return 125, "the workaround path fails too: torch.tensor ignores the default device"
    if got == "meta":
        return 0, "asarray follows the default device"
    return 1, "with default device meta, asarray puts the list on %s" % got


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
