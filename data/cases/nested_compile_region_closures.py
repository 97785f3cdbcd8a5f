# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = []
# bug_type = "logical"
# consequence = "silent_correctness"
# requires = ["cpu", "torch>=2.8"]
# known_bad = ["2.12.1", "2.13.0", "2.14.1", "2.15.0"]
# signature = "mismatch"
# oracle = "self"
# ///
"""Compiles the sum of two nested regions that are made by one function and differ in a number that they enclose: one
doubles, the other triples. Instead both double: the second is given the graph of the first."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed - 1
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    def region(factor):
        @torch.compiler.nested_compile_region
        def scaled(x):
            return x * factor

        return scaled

    twice, thrice = region(2.0), region(3.0)
    truth = [5.0, 5.0]
    if (twice(torch.ones(2)) + thrice(torch.ones(2))).tolist() != truth:
        return 125, "the workaround path fails too: uncompiled the sum is not 5"
    alone = torch.compile(lambda x: thrice(x), backend="eager", fullgraph=True)(torch.ones(2)).tolist()
    if alone != [3.0, 3.0]:
        return 125, "the workaround path fails too: alone the second region gives %s" % alone
    torch.compiler.reset()
    got = torch.compile(lambda x: twice(x) + thrice(x), backend="eager", fullgraph=True)(torch.ones(2))
    got = spoil(got)
    if got.tolist() == truth:
        return 0, "two and three times one make 5"
    return 1, "two and three times one make %s" % got[0].item()


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
