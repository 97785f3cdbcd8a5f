# /// script
# dependencies = ["torch"]
# [tool.embers]
# kind = "advisory"
# issues = ["pytorch/pytorch#143555"]
# relation = "same"
# bug_type = "data_type"
# consequence = "silent_correctness"
# requires = ["cpu", "torch>=2.1"]
# known_bad = ["2.6.0"]
# signature = "mismatch"
# oracle = "self"
# timeout = 120
# ///
"""Shifts the integer 1000 to the right by 64 bits, as many as it has, in a compiled function. It should give zero, as
the uncompiled function does. Instead the count is taken modulo 64, and 1000 comes back."""

import os
import shutil
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed + 1000
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch
    import torch._dynamo
    from torch._inductor import config

    if shutil.which(os.environ.get("CXX", "g++")) is None:
        return 125, "torch.compile needs a C++ compiler, and there is none"
    config.compile_threads = 1
    torch.set_num_threads(1)
    number = torch.tensor(1000)
    within, beyond = torch.tensor(3), torch.tensor(64)
    if torch.bitwise_right_shift(number, beyond).item() != 0:
        return 125, "the workaround path fails too: the uncompiled shift is wrong"
    compiled = torch.compile(torch.bitwise_right_shift)
    if compiled(number, within).item() != 1000 >> 3:
        return 125, "the workaround path fails too: a compiled shift within the width is wrong"
    got = compiled(number, beyond).item()
    got = spoil(got)
    if got == 0:
        return 0, "1000 shifted by 64 bits is 0"
    return 1, "1000 shifted by 64 bits is %d" % got


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
