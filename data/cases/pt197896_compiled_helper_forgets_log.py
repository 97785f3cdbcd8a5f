# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#197896"]
# relation = "same"
# bug_type = "logical"
# consequence = "silent_correctness"
# requires = ["cpu", "torch>=2.0"]
# known_bad = [
#     "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Compiles a function that makes an object of a local class and calls its method, which appends to a list of the
enclosing scope; the function is called twice. The list should have two entries. Instead it stays empty."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = 0
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)

    def logging():
        log = []

        class Helper:
            def touch(self):
                log.append("touched")

        def touching(x):
            Helper().touch()
            return x + 1

        return log, touching

    x = torch.ones(2)
    log, touching = logging()
    touching(x)
    touching(x)
    if len(log) != 2:
        return 125, "the workaround path fails too: uncompiled the list has %d entries" % len(log)
    log, touching = logging()
    compiled = torch.compile(touching, backend="eager")
    if compiled(x).tolist() != [2.0, 2.0] or compiled(x).tolist() != [2.0, 2.0]:
        return 125, "the workaround path fails too: compiled, one and one are not two"
    got = len(log)
    got = spoil(got)
    if got == 2:
        return 0, "the list has an entry for each compiled call"
    return 1, "behind two compiled calls the list has %d entries" % got


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
