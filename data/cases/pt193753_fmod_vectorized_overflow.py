# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#193753"]
# relation = "same"
# bug_type = "logical"
# consequence = "nan_inf"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Takes fmod and remainder of 1e308 by one half for sixteen equal double-precision numbers. Nothing remains, as a
single number gives. Instead the vectorized path gives NaN, as the quotient is too large for a double."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = [float("nan")] * 32
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    import math

    big, half = torch.full((16,), 1e308, dtype=torch.float64), torch.full((16,), 0.5, dtype=torch.float64)
    got = torch.fmod(big, half).tolist() + torch.remainder(big, half).tolist()
    got = spoil(got)
    single = [torch.fmod(big[:1], half[:1]).item(), torch.remainder(big[:1], half[:1]).item()]
    if single != [0.0, 0.0] or math.fmod(1e308, 0.5) != 0.0:
        return 125, "the workaround path fails too: one number gives %s" % single
    if got == [0.0] * 32:
        return 0, "nothing remains"
    return 1, "fmod gives %s, remainder %s instead of 0" % (got[0], got[16])


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
