# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#121274"]
# relation = "same"
# bug_type = "indexing"
# consequence = "runtime_error"
# requires = ["cpu", "package:numpy"]
# known_bad = ["1.13.1", "2.0.1", "2.1.2"]
# fixed_in = "2.2.2"
# signature = "IndexError"
# oracle = "self"
# ///
"""Selects elements of a two-row matrix by a NumPy mask of the same shape. The marked elements should come back, as they
do from 32 rows on. Instead each row of a short mask is taken for an index of its own, and an exception says that
there are too many or that the shapes differ."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        raise IndexError("too many indices for tensor of dimension 2")
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import numpy as np
    import torch

    values = torch.arange(6.0).reshape(2, 3)
    mask = np.array([[True, False, True], [False, True, False]])
    expected = values[torch.from_numpy(mask)]
    if expected.tolist() != [0.0, 2.0, 4.0]:
        return 125, "the workaround path fails too: a tensor mask selects %s" % expected.tolist()
    try:
        got = values[mask]
        got = spoil(got)
    except IndexError as error:
        if not any(words in str(error) for words in ("shape of the mask", "too many indices")):
            raise
        return 1, "a NumPy mask with 2 rows raises: %s" % str(error)[:100]
    if torch.equal(got, expected):
        return 0, "the mask selects %s" % got.tolist()
    return 125, "another failure: no exception, but the mask selects %s" % got.tolist()


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
