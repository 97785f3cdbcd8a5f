# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#5272"]
# relation = "sibling"
# bug_type = "memory"
# memory_type = "non_contiguous"
# memory_subtype = "input_tensor_management"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = ["1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1"]
# fixed_in = "2.8.0"
# signature = "mismatch"
# oracle = "self"
# ///
"""Lets a cross product write its result into one of its factors. The factor is read to the end, or the call is refused
as elementwise functions do. Instead each component that is written is used for the next."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        import torch

        observed = torch.zeros(1, 3)
    return observed


def is_refusal(error):
    """True where error is the refusal that is due here, by its type and its words."""
    return isinstance(error, RuntimeError) and any(
        words in str(error) for words in ("single memory location", "overlap")
    )


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    first, second = torch.tensor([[1.0, 2.0, 3.0]]), torch.tensor([[4.0, 5.0, 7.0]])
    expected = torch.cross(first, second, dim=1)
    if expected.tolist() != [[-1.0, 5.0, -3.0]]:
        return 125, "the workaround path fails too: a fresh output holds %s" % expected.tolist()
    try:
        target = first.clone()
        got = torch.cross(target, second, dim=1, out=target).clone()
    except RuntimeError as error:
        if not is_refusal(error):
            raise
        got = error
    got = spoil(got)
    if isinstance(got, Exception):
        return 0, "refused: %s" % str(got)[:80]
    if torch.equal(got, expected):
        return 0, "the product is right although the output is a factor"
    return 1, "written over its own factor the cross product is %s for %s" % (got.tolist()[0], expected.tolist()[0])


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
