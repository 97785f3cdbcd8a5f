# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#184031"]
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
"""Samples by gumbel_softmax with the temperature zero, which the documentation allows. Each row should have a one at
one place, as with a small temperature, or the call should be refused. Instead everything is NaN."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed * float("nan")
    return observed


def is_refusal(error):
    """Return True where the message speaks of the temperature."""
    return "tau" in str(error)


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    logits = torch.rand(2, 8)

    def sample(tau):
        torch.manual_seed(0)
        return torch.nn.functional.gumbel_softmax(logits, tau=tau, hard=True, dim=1)

    cold = sample(1e-3)
    if cold.sum(1).tolist() != [1.0, 1.0] or cold.max(1).values.tolist() != [1.0, 1.0]:
        return 125, "the workaround path fails too: a small temperature gives %s" % cold.tolist()
    try:
        got = sample(0.0)
    except ValueError as error:
        if not is_refusal(error):
            raise
        got = torch.zeros(2, 8)
    got = spoil(got)
    if not got.isnan().any():
        return 0, "no NaN with the temperature zero"
    return 1, "%d of 16 numbers are NaN with the temperature zero" % got.isnan().sum()


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
