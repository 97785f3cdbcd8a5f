# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#134848"]
# relation = "same"
# bug_type = "data_type"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = ["2.3.1", "2.4.1", "2.5.1"]
# fixed_in = "2.6.0"
# signature = "mismatch"
# oracle = "self"
# ///
"""Averages a half-precision tensor over one axis into a given output. The output should hold the averages. Instead it
keeps what it held: the sum is made in a float32 copy that nobody writes back."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed.fill_(-1)
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    source = torch.tensor([[1.0, 5.0], [2.0, 6.0], [3.0, 7.0]], dtype=torch.float16)
    out = torch.full((2,), -1.0, dtype=torch.float16)
    got = torch.mean(source, dim=0, out=out)
    expected = torch.mean(source, dim=0)
    out = spoil(out)
    if expected.tolist() != [2.0, 6.0]:
        return 125, "the workaround path fails too: without an output the means are %s" % expected.tolist()
    if got.tolist() == out.tolist() == [2.0, 6.0]:
        return 0, "the output holds the means"
    return 1, "the output holds %s where the means are 2 and 6" % out.tolist()


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
