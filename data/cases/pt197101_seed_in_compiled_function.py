# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#197101"]
# relation = "same"
# bug_type = "logical"
# consequence = "silent_correctness"
# requires = ["cpu", "torch>=2.0"]
# known_bad = ["2.14.1"]
# fixed_in = "2.15.0"
# signature = "mismatch"
# oracle = "self"
# ///
"""Compiles a function that seeds Python's generator with zero and returns its next number. Each call should give the
first number of that seed. Instead the call that compiles gives a number of the stream from before: the seed has no
effect on it."""

import os
import random
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

    def seeded(x):
        random.seed(0)
        return x + 1, random.random()

    truth = 0.8444218515250481
    random.seed(1)
    if seeded(torch.ones(2))[1] != truth:
        return 125, "the workaround path fails too: uncompiled, seed 0 does not start with %g" % truth
    random.seed(1)
    got = torch.compile(seeded, backend="eager")(torch.ones(2))[1]
    got = spoil(got)
    if got == truth:
        return 0, "compiled, seed 0 starts with %g" % got
    return 1, "compiled, the first number behind seed 0 is %g instead of %g" % (got, truth)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
