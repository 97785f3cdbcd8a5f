# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#174602", "pytorch/pytorch#193794"]
# bug_type = "memory"
# memory_type = "indexing"
# memory_subtype = "invalid_memory_access"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = []
# signature = "mismatch"
# oracle = "self"
# ///
"""Computes a CTC loss for three classes whose target names class five. The label should be refused. Instead the kernel
reads beyond the row of its time step, so that the loss depends on memory that does not belong to the tensor; the
case puts two different paddings there."""

import itertools
import math
import os
import sys

PLANT = os.environ.get("EMBERS_PLANT") == "1"


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    steps, length = torch.tensor([4]), torch.tensor([2])

    def loss(labels, padding):
        # The log-probabilities are the first three of eight columns: what lies behind a row belongs to somebody else.
        around = torch.full((4, 1, 8), padding)
        around[:, :, :3] = torch.zeros(4, 1, 3).log_softmax(2)
        target = torch.tensor([labels])
        return float(torch.nn.functional.ctc_loss(around[:, :, :3], target, steps, length, reduction="sum"))

    valid = [loss([2, 1], padding) for padding in (-1.0, -9.0)]
    spelled = [[key for key, _ in itertools.groupby(path) if key] for path in itertools.product(range(3), repeat=4)]
    truth = -math.log(spelled.count([2, 1]) / 81.0)
    if abs(valid[0] - truth) > 1e-4 or valid[0] != valid[1]:
        return 125, "the workaround path fails too: valid labels give %s, by enumeration %g" % (valid, truth)
    try:
        got = [loss([5, 1], padding) for padding in (-1.0, -9.0)]
    except (IndexError, RuntimeError, ValueError) as error:
        if not PLANT:
            return 0, "refused: %s" % str(error)[:80]
        got = [1.0, 2.0]
    if got[0] == got[1]:
        return 125, "another failure: label 5 of 3 gives %g whatever lies behind the rows" % got[0]
    return 1, "label 5 of 3 is accepted, and foreign memory decides the loss: %.4g or %.4g" % (got[0], got[1])


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
