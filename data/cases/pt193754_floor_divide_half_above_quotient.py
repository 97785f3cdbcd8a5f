# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#193754"]
# relation = "same"
# bug_type = "data_type"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0",
#     "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Divides 560 by 3 in bfloat16 and 2158 by 3 in float16 and rounds down, for two elements at a time. Operands and
results are exact in these types: 186 and 719. Instead a difference is rounded on the way, and the results are 187,
above the quotient, and 718."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed[0] = 187.0
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    pairs = [(560.0, 3.0, torch.bfloat16), (2158.0, 3.0, torch.float16)]
    truth = [186.0, 719.0]
    got, alone, single = [], [], []
    for top, bottom, dtype in pairs:
        a = torch.full((2,), top, dtype=dtype)
        b = torch.full((2,), bottom, dtype=dtype)
        got.append(torch.floor_divide(a, b)[0].item())
        alone.append(torch.floor_divide(a[:1], b[:1]).item())
        single.append(torch.floor_divide(a.float(), b.float())[0].item())
    got = spoil(got)
    # Operands and results are whole numbers that bfloat16 and float16 hold exactly, so that nothing need be rounded.
    if single != truth:
        return 125, "the workaround path fails too: single precision gives %s" % single
    if got == truth:
        return 0, "the quotients are %s, as they should be" % got
    return 1, "the quotients are %s instead of %s; of one element %s" % (got, truth, alone)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
