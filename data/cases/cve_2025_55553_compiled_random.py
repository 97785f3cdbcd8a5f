# /// script
# dependencies = ["torch"]
# [tool.embers]
# kind = "advisory"
# issues = ["pytorch/pytorch#151432"]
# relation = "same"
# bug_type = "logical"
# consequence = "runtime_error"
# requires = ["cpu", "torch>=2.1"]
# known_bad = ["2.6.0", "2.7.0", "2.7.1"]
# fixed_in = "2.8.0"
# signature = "mismatch"
# oracle = "self"
# timeout = 120
# ///
"""Compiles the product of a tensor with itself after random_(0, 2) has filled it in place. It should run, as it does
without a compiler. Instead the traced program is written as Python that is no Python, and compiling ends in a
SyntaxError. The tensor is one of ones; which numbers are drawn is not compared."""

import os
import shutil
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed | {2.0}
    return observed


def squared_draw(x):
    return x * x.random_(0, 2)


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch
    import torch._dynamo
    from torch._inductor import config

    if shutil.which(os.environ.get("CXX", "g++")) is None:
        return 125, "torch.compile needs a C++ compiler, and there is none"
    config.compile_threads = 1
    torch.set_num_threads(1)
    config.fallback_random = True
    try:
        drawn = torch.compile(squared_draw)(torch.ones(4, 8))
    except Exception as error:
        if "SyntaxError" not in "%s %s" % (type(error).__name__, error):
            raise
        if not set(squared_draw(torch.ones(4, 8)).flatten().tolist()) <= {0.0, 1.0}:
            return 125, "the workaround path fails too: the uncompiled function is wrong"
        return 1, "compiling random_ ends in a SyntaxError"
    got = set(drawn.flatten().tolist())
    got = spoil(got)
    if got <= {0.0, 1.0}:
        return 0, "compiled, random_(0, 2) gives zeros and ones"
    return 1, "compiled, random_(0, 2) gives %s" % sorted(got)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
