# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#185885"]
# relation = "sibling"
# bug_type = "indexing"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0",
#     "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Adds rows at index minus one by the replacement of index_add that the compiler uses. The operator itself refuses
negative indices, and so should its replacement. Instead the index counts from the end and the last row is changed."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = [1.0, 0.0, 0.0, 1.0]
    return observed


def is_refusal(error):
    """True where error is the refusal that is due here, by its type and its words."""
    return isinstance(error, (IndexError, RuntimeError)) and any(
        words in str(error) for words in ("out of range", "out of bounds")
    )


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    try:
        from torch._decomp import decomposition_table
    except ImportError:
        return 125, "this release has no torch._decomp"
    operator = torch.ops.aten.index_add.default
    if operator not in decomposition_table:
        return 125, "this release does not decompose index_add"
    replacement = decomposition_table[operator]
    target, rows = torch.zeros(4, 1), torch.ones(2, 1)

    def add(function, index):
        return function(target, 0, torch.tensor(index), rows).flatten().tolist()

    if add(operator, [0, 3]) != [1.0, 0.0, 0.0, 1.0] or add(replacement, [0, 3]) != [1.0, 0.0, 0.0, 1.0]:
        return 125, "the workaround path fails too: valid indices give %s" % add(replacement, [0, 3])
    try:
        add(operator, [0, -1])
        return 125, "the workaround path fails too: the operator accepts a negative index as well"
    except (IndexError, RuntimeError) as error:
        if not is_refusal(error):
            raise
    try:
        got = add(replacement, [0, -1])
    except (IndexError, RuntimeError) as error:
        if not is_refusal(error):
            raise
        got = error
    got = spoil(got)
    if isinstance(got, Exception):
        return 0, "refused: %s" % str(got)[:80]
    return 1, "the operator refuses index -1, its replacement gives %s" % got


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
