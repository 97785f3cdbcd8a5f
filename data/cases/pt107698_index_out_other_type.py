# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#107698"]
# relation = "same"
# bug_type = "data_type"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = ["1.13.1", "2.0.1", "2.1.2"]
# fixed_in = "2.2.2"
# signature = "mismatch"
# oracle = "self"
# ///
"""Picks elements of a 32-bit integer tensor by a mask, into a 64-bit output. The values should be converted or the
call refused. Instead the bits are copied, so that two numbers end up in one."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = [0, 0]
    return observed


def is_refusal(error):
    """True where error is the refusal that is due here, by its type and its words."""
    return isinstance(error, RuntimeError) and "same scalar type" in str(error)


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    source = torch.tensor([[1, 2], [3, 4]], dtype=torch.int32)
    where = [torch.tensor([[True, False], [False, True]])]
    same = torch.ops.aten.index.Tensor_out(source, where, out=torch.zeros(2, dtype=torch.int32))
    if same.tolist() != [1, 4]:
        return 125, "the workaround path fails too: an output of the same type holds %s" % same.tolist()
    try:
        got = torch.ops.aten.index.Tensor_out(source, where, out=torch.zeros(2, dtype=torch.int64)).tolist()
    except RuntimeError as error:
        if not is_refusal(error):
            raise
        got = error
    got = spoil(got)
    if isinstance(got, Exception):
        return 0, "refused: %s" % str(got)[:80]
    if got == [1, 4]:
        return 0, "the values are converted"
    return 1, "elements 1 and 4 arrive as %s" % got


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
