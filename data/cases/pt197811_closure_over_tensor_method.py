# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#197811"]
# relation = "same"
# bug_type = "logical"
# consequence = "silent_correctness"
# requires = ["cpu", "torch>=2.0"]
# known_bad = ["2.10.0", "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0"]
# signature = "mismatch"
# oracle = "self"
# ///
"""Compiles two closures of one factory over six and three: one encloses torch.Tensor.__add__, the other
torch.Tensor.__mul__. They should give 9 and 18. Instead the second gives 9 too: nothing guards the enclosed method,
and the graph of the first is taken."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = [9.0, 9.0]
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)

    def applying(method):
        def applied(x, y):
            return method(x, y)

        return applied

    truth = [9.0, 18.0]
    x, y = torch.tensor(6.0), torch.tensor(3.0)
    methods = (torch.Tensor.__add__, torch.Tensor.__mul__)
    if [applying(method)(x, y).item() for method in methods] != truth:
        return 125, "the workaround path fails too: uncompiled they do not give 9 and 18"
    got = [torch.compile(applying(method), backend="eager")(x, y).item() for method in methods]
    got = spoil(got)
    if got == truth:
        return 0, "compiled, sum and product are 9 and 18"
    return 1, "compiled, sum and product of 6 and 3 are %s" % got


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
