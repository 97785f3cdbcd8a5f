# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = []
# bug_type = "data_type"
# consequence = "nan_inf"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Takes the exponential of a turn by 0.3 in bfloat16. It must be the turn's matrix of cosine and sine, to within a few
roundings to eight bits. Instead numbers such as 1e30, infinity or NaN come out, as for other matrices; float32 and
float64 are right."""

import math
import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed * 2
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    turn = torch.tensor([[0.0, 0.3], [-0.3, 0.0]]).to(torch.bfloat16)
    angle = float(turn[0, 1])
    truth = torch.tensor([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]]).double()
    got = torch.linalg.matrix_exp(turn).double()
    got = spoil(got)
    single = torch.linalg.matrix_exp(turn.float()).double()
    if (single - truth).abs().max() > 1e-5:
        return 125, "the workaround path fails too: float32 gives %s" % single.flatten().tolist()
    off = (got - truth).abs().nan_to_num(float("inf")).max().item()
    if off <= 16 * 2.0**-8:
        return 0, "the exponential is right to %.2g" % off
    return 1, "the exponential of a turn by 0.3 is %s" % [float("%.3g" % number) for number in got.flatten().tolist()]


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
