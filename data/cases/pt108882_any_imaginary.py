# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#108882"]
# relation = "same"
# bug_type = "data_type"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = ["1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1"]
# fixed_in = "2.4.1"
# signature = "mismatch"
# oracle = "self"
# ///
"""Asks whether any element of a complex vector differs from zero; one is purely imaginary. The answer is yes. Instead
only real parts are looked at, in any() and in the conversion to bool."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = (False, [False, False])
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    vector = torch.tensor([0j, 2j])
    got = (bool(vector.any()), vector.bool().tolist())
    got = spoil(got)
    if (vector != 0).tolist() != [False, True]:
        return 125, "the workaround path fails too: the comparison with zero gives %s" % (vector != 0).tolist()
    if got == (True, [False, True]):
        return 0, "an imaginary element counts as true"
    return 1, "for 0 and 2j any() says %s and bool() says %s" % got


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
