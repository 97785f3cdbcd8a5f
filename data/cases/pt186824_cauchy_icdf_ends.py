# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#186824"]
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
"""Asks the Cauchy and the Gumbel distribution for the quantiles at zero and one. They are minus and plus infinity, as
those of the normal distribution. Instead all are finite, and those of Cauchy have the wrong sign."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed["Cauchy"] = [2e7, -2e7]
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    ends = torch.tensor([0.0, 1.0])
    truth = [-float("inf"), float("inf")]
    kinds = ("Cauchy", "Gumbel", "Normal")
    got = {kind: getattr(torch.distributions, kind)(0.0, 1.0).icdf(ends).tolist() for kind in kinds}
    got = spoil(got)
    middle = torch.distributions.Cauchy(0.0, 1.0).icdf(torch.tensor([0.25, 0.75])).tolist()
    if got["Normal"] != truth or abs(middle[0] + 1) > 1e-5 or abs(middle[1] - 1) > 1e-5:
        return 125, "the workaround path fails too: normal %s, quartiles of Cauchy %s" % (got["Normal"], middle)
    if got["Cauchy"] == truth and got["Gumbel"] == truth:
        return 0, "the quantiles at zero and one are infinite"
    return 1, "the quantiles at zero and one: Cauchy %s, Gumbel %s" % (got["Cauchy"], got["Gumbel"])


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
