# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#195422"]
# relation = "same"
# bug_type = "logical"
# consequence = "silent_correctness"
# requires = ["cpu", "torch>=2.0"]
# known_bad = [
#     "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0", "2.12.1",
#     "2.13.0",
# ]
# fixed_in = "2.14.1"
# signature = "mismatch"
# oracle = "self"
# ///
"""Compiles a function that adds what F.dropout returns to itself in place, on ones. Outside of training F.dropout
returns its argument, so the argument should have become two. Instead it stays one: the change is lost."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed / 2
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)

    def doubling(x):
        same = torch.nn.functional.dropout(x, 0.5, False)
        same += same
        return same

    compiled = torch.compile(doubling, backend="aot_eager")
    truth = [[2.0, 2.0], [2.0, 2.0]]
    x = torch.ones(2, 2)
    doubling(x)
    if x.tolist() != truth:
        return 125, "the workaround path fails too: uncompiled the argument is %s" % x.tolist()
    x = torch.ones(2, 2)
    compiled(x)
    x = spoil(x)
    if x.tolist() == truth:
        return 0, "compiled, the argument has been doubled"
    return 1, "compiled, the argument is %s instead of twos" % x.tolist()


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
