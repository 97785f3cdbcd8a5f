# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#195969"]
# relation = "same"
# bug_type = "logical"
# consequence = "silent_correctness"
# requires = ["cpu", "torch>=2.0"]
# known_bad = [
#     "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0", "2.12.1",
#     "2.13.0", "2.14.1",
# ]
# fixed_in = "2.15.0"
# signature = "mismatch"
# oracle = "self"
# ///
"""Compiles isinstance with a tuple of two runtime protocols, the first of which has an attribute that is no method. The
object has what both ask for, so the answer is yes. Instead it is no."""

import os
import sys
from typing import Protocol, runtime_checkable


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = False
    return observed


@runtime_checkable
class Ported(Protocol):
    """Whatever has ports."""

    ports: tuple


@runtime_checkable
class Runnable(Protocol):
    """Whatever can be run."""

    def run(self):
        """Do it."""


class Thing:
    """It has ports and can be run."""

    ports = (1, 2)

    def run(self):
        """Do nothing."""


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)

    def asked(x, thing):
        return x + 1, isinstance(thing, (Ported, Runnable))

    if asked(torch.ones(2), Thing())[1] is not True:
        return 125, "the workaround path fails too: uncompiled the object fulfils neither protocol"
    got = torch.compile(asked, backend="eager")(torch.ones(2), Thing())[1]
    got = spoil(got)
    if got is True:
        return 0, "compiled, the object fulfils one of two protocols"
    return 1, "compiled, isinstance with two protocols gives %s" % got


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
