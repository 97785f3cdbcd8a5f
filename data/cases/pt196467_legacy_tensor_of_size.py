# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#196467"]
# relation = "same"
# bug_type = "logical"
# consequence = "silent_correctness"
# requires = ["cpu", "torch>=2.0"]
# known_bad = [
#     "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0", "2.12.1",
#     "2.13.0", "2.14.1",
# ]
# fixed_in = "2.15.0"
# signature = "mismatch"
# oracle = "self"
# ///
"""Compiles the legacy constructor torch.Tensor on the size of a tensor of one row and four columns. It should make a
tensor of that shape. Instead the size becomes a plain tuple and is taken for data: the result has the shape (2,)."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = [len(observed)]
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)

    def of_same_size(x):
        return torch.Tensor((x + 1).size())

    truth = [1, 4]
    row = torch.ones(1, 4)
    if list(of_same_size(row).shape) != truth:
        return 125, "the workaround path fails too: uncompiled the shape is not (1, 4)"
    got = list(torch.compile(of_same_size, backend="eager")(row).shape)
    got = spoil(got)
    if got == truth:
        return 0, "compiled, the tensor made of a size has that size"
    return 1, "compiled, the tensor made of the size (1, 4) has the shape %s" % got


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
