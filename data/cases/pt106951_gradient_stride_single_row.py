# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#106951"]
# relation = "same"
# bug_type = "memory"
# memory_type = "memory_format"
# memory_subtype = "stride_calculation_manually"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Differentiates a batched product by a parameter with an axis of size one. The documented promise is that a
gradient which the engine creates has the strides of its dense parameter. Instead the stride of that axis differs,
and optimizers that compare strides refuse the pair."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = (observed[0], observed[1] + 1, observed[2])
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    def strides(rows):
        weight = torch.nn.Parameter(torch.zeros(2, rows, 100))
        batch = torch.ones(10, 2, 100)
        torch.bmm(batch.transpose(0, 1), weight.transpose(1, 2)).sum().backward()
        if not torch.equal(weight.grad, torch.full((2, rows, 100), 10.0)):
            raise ValueError("the gradient itself is wrong")
        return weight.stride(), weight.grad.stride()

    own, given = strides(2)
    if own != given:
        return 125, "the workaround path fails too: strides differ without an axis of size one"
    own, given = strides(1)
    given = spoil(given)
    if own == given:
        return 0, "parameter and gradient have strides %s" % (own,)
    return 1, "the parameter has strides %s, its gradient %s" % (own, given)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
