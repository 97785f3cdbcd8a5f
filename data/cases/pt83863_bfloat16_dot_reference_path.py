# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#83863", "pytorch/pytorch#95125", "pytorch/pytorch#96074"]
# relation."pytorch/pytorch#83863" = "sibling"
# relation."pytorch/pytorch#95125" = "sibling"
# relation."pytorch/pytorch#96074" = "same"
# bug_type = "data_type"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = ["1.13.1", "2.0.1"]
# fixed_in = "2.1.2"
# signature = "mismatch"
# oracle = "self"
# ///
"""Multiplies vectors of a thousand bfloat16 ones, as dot product and as matrix times vector, without the vendor's
library. 1024 is due, which bfloat16 holds exactly. Instead the reference path keeps its running sum in bfloat16 and
stops at 256."""

import os
import sys

PLANT = os.environ.get("EMBERS_PLANT") == "1"


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    ones = torch.ones(4, 1024, dtype=torch.bfloat16)
    with torch.backends.mkldnn.flags(enabled=False):
        got = (float(torch.dot(ones[0], ones[1])), float(torch.mv(ones, ones[0])[0]))
    if PLANT:
        got = (256.0, 256.0)
    expected = float((ones.float() @ ones.float().t())[0, 0].bfloat16())
    if expected != 1024:
        return 125, "the workaround path fails too: in float32 the product is %g" % expected
    if got == (1024.0, 1024.0):
        return 0, "both products are 1024"
    return 1, "1024 products of ones add up to %g by dot and %g by mv" % got


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
