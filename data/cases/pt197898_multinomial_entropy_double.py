# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#197898"]
# relation = "same"
# bug_type = "data_type"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0", "2.14.1",
# ]
# fixed_in = "2.15.0"
# signature = "mismatch"
# oracle = "self"
# ///
"""Asks a multinomial distribution in double precision, of a thousand draws, for its entropy. It should be that of the
formula in double precision. Instead the logarithm of the factorial is taken in single precision, and the entropy is off
by far more than a double's rounding."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed + 2e-4
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    import math

    count, probabilities = 1000, [0.2, 0.3, 0.5]

    def entropy():
        chances = torch.tensor(probabilities, dtype=torch.float64)
        return torch.distributions.Multinomial(count, chances).entropy().item()

    got = entropy()
    got = spoil(got)
    torch.set_default_dtype(torch.float64)
    expected = entropy()
    truth = -math.lgamma(count + 1) - count * sum(p * math.log(p) for p in probabilities)
    for p in probabilities:
        for k in range(count + 1):
            ways = math.lgamma(count + 1) - math.lgamma(k + 1) - math.lgamma(count - k + 1)
            truth += math.exp(ways + k * math.log(p) + (count - k) * math.log(1 - p)) * math.lgamma(k + 1)
    # Terms of up to 6000 with an error of 2e-16 each: honest double precision stays below 1e-8.
    if abs(expected - truth) > 1e-8:
        return 125, "the workaround path fails too: with a double default %.12g, by hand %.12g" % (expected, truth)
    if abs(got - truth) <= 1e-8:
        return 0, "the entropy is %.12g" % got
    return 1, "the entropy is %.12g instead of %.12g" % (got, truth)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
