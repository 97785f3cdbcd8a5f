# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#106051"]
# relation = "same"
# bug_type = "memory"
# memory_type = "non_contiguous"
# memory_subtype = "input_tensor_management"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = ["2.0.1"]
# fixed_in = "2.1.2"
# signature = "mismatch"
# oracle = "self"
# ///
"""Assigns the conjugate of a complex vector to the vector itself. Every element should be conjugated. Instead nothing
changes: the lazy conjugate shares its memory, so source and target are taken for the same tensor and the copy is
skipped."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = [1 + 2j, 3 + 4j, 5 + 6j]
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    vector = torch.tensor([1 + 2j, 3 + 4j, 5 + 6j])
    vector[:] = vector.conj()
    got = vector.tolist()
    got = spoil(got)
    other = torch.tensor([1 + 2j, 3 + 4j, 5 + 6j])
    other[:] = other.conj().resolve_conj().clone()
    if other.tolist() != [1 - 2j, 3 - 4j, 5 - 6j]:
        return 125, "the workaround path fails too: a resolved conjugate gives %s" % other.tolist()
    if got == other.tolist():
        return 0, "the vector is conjugated: %s" % got
    return 1, "after v[:] = v.conj() the vector is %s" % got


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
