# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#186671"]
# relation = "same"
# bug_type = "logical"
# consequence = "silent_correctness"
# requires = ["cpu", "torch>=2.0"]
# known_bad = ["2.8.0", "2.9.1", "2.10.0", "2.11.0", "2.12.1", "2.13.0"]
# fixed_in = "2.14.1"
# signature = "mismatch"
# oracle = "self"
# ///
"""Compiles the comparison of a set with an equal object of a subclass of set whose __iter__ gives other elements. Sets
are compared by what they hold, so the two are equal. Instead they are not: the compiler asks __iter__ what the set
holds."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = False
    return observed


class Pretending(set):
    """It says that it holds 99."""

    def __iter__(self):
        """Give what is not there."""
        return iter([99])


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)

    def equal(x, left, right):
        return x + 1, left == right

    x, left, right = torch.ones(2), {1, 2, 3}, Pretending({1, 2, 3})
    if equal(x, left, right)[1] is not True:
        return 125, "the workaround path fails too: uncompiled the sets are not equal"
    got = torch.compile(equal, backend="eager")(x, left, right)[1]
    got = spoil(got)
    if got is True:
        return 0, "compiled, the sets are equal"
    return 1, "compiled, comparing equal sets gives %s" % got


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
