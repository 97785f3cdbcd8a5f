# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#187806"]
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
"""Applies the exact GELU to -5.5 in single precision. The result should be right to a few units of the last place, as
with the complementary error function. Instead the error function near minus one is added to one, most digits
cancel, and half of the result is lost."""

import math
import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed * 0.4
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    x = -5.5
    truth = 0.5 * x * math.erfc(-x / math.sqrt(2.0))
    got = torch.nn.functional.gelu(torch.tensor([x])).item()
    got = spoil(got)
    honest = (0.5 * x * torch.special.erfc(torch.tensor([-x / math.sqrt(2.0)]))).item()
    # Single precision has 24 bits; the same function by erfc is good to a few units of the last, here to 1e-4.
    if abs(honest - truth) > 1e-4 * abs(truth):
        return 125, "the workaround path fails too: by erfc %.9g, in double precision %.9g" % (honest, truth)
    if abs(got - truth) < 1e-2 * abs(truth):
        return 0, "GELU of %g is %.9g, as it should be" % (x, got)
    return 1, "GELU of %g is %.9g instead of %.9g" % (x, got, truth)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
