# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#197085"]
# relation = "sibling"
# bug_type = "logical"
# consequence = "silent_correctness"
# requires = ["cpu", "torch>=2.0"]
# known_bad = ["2.14.1", "2.15.0"]
# signature = "mismatch"
# oracle = "self"
# ///
"""Compiles a function that shuffles six numbers by Python's generator, and calls it three times behind one seed. The
orders should be the three that the generator gives one after another. Instead each call gives the order of the
first."""

import os
import random
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = [observed[0]] * 3
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)

    def shuffled(x):
        numbers = [0, 1, 2, 3, 4, 5]
        random.shuffle(numbers)
        return x + 1, numbers

    x = torch.ones(2)
    random.seed(0)
    truth = [shuffled(x)[1] for _ in range(3)]
    generator = random.Random(0)
    for order in truth:
        numbers = [0, 1, 2, 3, 4, 5]
        generator.shuffle(numbers)
        if order != numbers or truth.count(order) != 1:
            return 125, "the workaround path fails too: uncompiled the orders are %s" % truth
    compiled = torch.compile(shuffled, backend="eager")
    random.seed(0)
    got = [compiled(x)[1] for _ in range(3)]
    got = spoil(got)
    if got == truth:
        return 0, "compiled, three shuffles give the three orders of the generator"
    if got[0] == got[1] == got[2]:
        return 1, "compiled, three shuffles give one order: %s" % got[0]
    return 125, "another fault: compiled, the orders are %s instead of %s" % (got, truth)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
