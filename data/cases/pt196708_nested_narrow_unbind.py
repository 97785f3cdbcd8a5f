# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#196708"]
# relation = "same"
# bug_type = "memory"
# memory_type = "nested_tensor_layout"
# memory_subtype = "storage_format_mismatch"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0", "2.12.1", "2.13.0",
#     "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Narrows a two by two matrix to a jagged nested tensor: the whole first row, and the second element of the second row.
The parts should have two elements and one. Instead the result is taken for contiguous, and the first part goes on to
the element that was left out."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed[0] = [1.0, 2.0, 3.0]
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    rows = torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.float64)
    begins, counts = torch.tensor([0, 1]), torch.tensor([2, 1])
    expected = [rows[i, begins[i] : begins[i] + counts[i]].tolist() for i in range(2)]
    if expected != [[1.0, 2.0], [4.0]]:
        return 125, "the workaround path fails too: row by row %s" % expected
    nested = torch.nested.narrow(rows, 1, begins, counts, layout=torch.jagged)
    got = [part.tolist() for part in nested.unbind()]
    got = spoil(got)
    if got == expected:
        return 0, "the parts are %s" % got
    return 1, "the parts are %s instead of %s" % (got, expected)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
