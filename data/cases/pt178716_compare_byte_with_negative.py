# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#178716"]
# relation = "sibling"
# bug_type = "data_type"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Compares unsigned bytes with a negative number. They are greater. Instead the number wraps around to a byte first,
and the answer is the opposite."""

import os
import sys

PLANT = os.environ.get("EMBERS_PLANT") == "1"


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    values = torch.tensor([1, 200], dtype=torch.uint8)
    got = ((values > -19).tolist(), (values == -56).tolist())
    if PLANT:
        got = ([False, False], [False, True])
    wide = values.to(torch.int16)
    if ((wide > -19).tolist(), (wide == -56).tolist()) != ([True, True], [False, False]):
        return 125, "the workaround path fails too: wider integers compare wrongly"
    if got == ([True, True], [False, False]):
        return 0, "bytes are greater than negative numbers"
    return 1, "1 and 200 > -19: %s; 1 and 200 == -56: %s" % got


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
