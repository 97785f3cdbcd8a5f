# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#192812"]
# relation = "same"
# bug_type = "data_type"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0", "2.12.1", "2.13.0",
#     "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Draws from 151936 places of which one alone has weight, in float16, with 250 seeds. Each draw must give that place.
Instead an exponential number now and then becomes zero when it is narrowed to float16, zero by zero is NaN, and NaN
wins: a place without weight is drawn."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = [(0, 7)]
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    weights = torch.zeros(151936, dtype=torch.float16)
    weights[0] = 1.0

    def draw(seed, chances):
        torch.manual_seed(seed)
        return torch.multinomial(chances, 1).item()

    got, wide = [], []
    for seed in range(250):
        place = draw(seed, weights)
        if place != 0:
            got.append((seed, place))
            wide.append(draw(seed, weights.float()))
    got = spoil(got)
    if any(wide):
        return 125, "the workaround path fails too: in single precision the places are %s" % wide
    if not got:
        return 0, "250 draws all give the one place that has weight"
    return 1, "seeds and the places without weight that they drew: %s" % got


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
