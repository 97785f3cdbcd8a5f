# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#195705"]
# relation = "same"
# bug_type = "data_type"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0",
#     "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Drops out parts of a bfloat16 tensor by the reference of alpha_dropout. The result should be bfloat16, as that of the
operator. Instead it is single precision, as the mask was multiplied by a Python number."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = "torch.float32"
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    from torch._refs.nn.functional import alpha_dropout

    torch.manual_seed(0)
    ones = torch.ones(16, dtype=torch.bfloat16)
    expected = str(torch.nn.functional.alpha_dropout(ones, 0.5, training=True).dtype)
    if expected != "torch.bfloat16":
        return 125, "the workaround path fails too: the operator gives %s" % expected
    got = str(alpha_dropout(ones, p=0.5, training=True).dtype)
    got = spoil(got)
    if got == expected:
        return 0, "the reference gives %s" % got
    return 1, "the reference gives %s, the operator %s" % (got, expected)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
