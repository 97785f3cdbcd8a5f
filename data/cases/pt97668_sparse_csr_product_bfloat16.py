# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#97668"]
# bug_type = "data_type"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = []
# signature = "mismatch"
# oracle = "self"
# ///
"""Multiplies a compressed sparse bfloat16 matrix of four thousand halves with a column of ones. 2048 is due, which
bfloat16 holds exactly. Instead the sum is carried in bfloat16 and stops early."""

import os
import sys

PLANT = os.environ.get("EMBERS_PLANT") == "1"


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    halves = torch.full((1, 4096), 0.5).bfloat16()
    ones = torch.ones(4096, 1).bfloat16()
    if float((halves.float().to_sparse_csr() @ ones.float())[0, 0]) != 2048 or float((halves @ ones)[0, 0]) != 2048:
        return 125, "the workaround path fails too: dense or in float32 the product is not 2048"
    got = float((halves.to_sparse_csr() @ ones)[0, 0])
    if PLANT:
        got = 128.0
    if abs(got - 2048) <= 16:
        return 0, "the product is %g" % got
    return 1, "4096 halves add up to %g" % got


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
