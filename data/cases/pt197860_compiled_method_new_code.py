# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#197860"]
# relation = "same"
# bug_type = "logical"
# consequence = "silent_correctness"
# requires = ["cpu", "torch>=2.0"]
# known_bad = [
#     "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0", "2.12.1",
#     "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Compiles a function that calls a method, which doubles. Then the method's __code__ is replaced by that of another
one, which multiplies by nine. The compiled function should multiply by nine from then on. Instead it goes on
doubling: nothing guards the code of a bound method."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = [2.0, 4.0, 6.0]
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)

    def twice(_self, x):
        return x * 2.0

    def nine_times(_self, x):
        return x * 9.0

    class Scaling:
        scale = twice

    scaling, x = Scaling(), torch.arange(1.0, 4.0)
    compiled = torch.compile(lambda values: scaling.scale(values), backend="eager")
    if compiled(x).tolist() != [2.0, 4.0, 6.0]:
        return 125, "the workaround path fails too: before the change the compiled function does not double"
    Scaling.scale.__code__ = nine_times.__code__
    truth = [9.0, 18.0, 27.0]
    if scaling.scale(x).tolist() != truth:
        return 125, "the workaround path fails too: uncompiled the method does not multiply by nine"
    got = compiled(x).tolist()
    got = spoil(got)
    if got == truth:
        return 0, "the compiled function runs the new code of the method"
    return 1, "the compiled function gives %s instead of %s" % (got, truth)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
