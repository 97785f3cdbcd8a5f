# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#190063"]
# relation = "same"
# bug_type = "indexing"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0",
# ]
# fixed_in = "2.14.1"
# signature = "mismatch"
# oracle = "self"
# ///
"""Sums one bag with index 1 twice and index 3 once, and scales the gradient by frequency. Rows 1 and 3 should get one
each, as from an embedding without bags. Instead the count is looked up in the wrong place, and row 3 gets a half."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed[3] = 0.5
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    from torch.nn import functional

    indices = torch.tensor([1, 1, 3])

    def gradient(bags):
        table = torch.ones(4, 2, requires_grad=True)
        if bags:
            out = functional.embedding_bag(indices, table, torch.tensor([0]), mode="sum", scale_grad_by_freq=True)
        else:
            out = functional.embedding(indices, table, scale_grad_by_freq=True)
        out.sum().backward()
        return table.grad[:, 0].tolist()

    got = gradient(bags=True)
    got = spoil(got)
    expected = gradient(bags=False)
    if expected != [0.0, 1.0, 0.0, 1.0]:
        return 125, "the workaround path fails too: without bags the rows get %s" % expected
    if got == expected:
        return 0, "the rows get %s" % got
    return 1, "the rows get %s instead of %s" % (got, expected)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
