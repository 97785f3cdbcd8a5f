# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#196127"]
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
"""Compiles isinstance with a runtime protocol that asks for one attribute, and calls it with two objects of one class:
the first has the attribute, the second lacks it. The answers should be yes and no. Instead the second is yes as
well: nothing guards the attribute that decides."""

import os
import sys
from typing import Protocol, runtime_checkable


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = [True, True]
    return observed


@runtime_checkable
class Ported(Protocol):
    """Whatever has ports."""

    ports: tuple


class Thing:
    """It has ports where it is asked to."""

    def __init__(self, with_ports):
        """Make one."""
        if with_ports:
            self.ports = (1, 2)


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)

    def asked(x, thing):
        return x + 1, isinstance(thing, Ported)

    truth = [True, False]
    x = torch.ones(2)
    if [asked(x, Thing(with_ports))[1] for with_ports in truth] != truth:
        return 125, "the workaround path fails too: uncompiled the answers are not yes and no"
    compiled = torch.compile(asked, backend="eager")
    got = [compiled(x, Thing(with_ports))[1] for with_ports in truth]
    got = spoil(got)
    if got == truth:
        return 0, "compiled, the object with the attribute fulfils the protocol and the one without does not"
    return 1, "compiled, objects with and without the attribute are answered with %s" % got


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
