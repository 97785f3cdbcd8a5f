# /// script
# dependencies = ["torch"]
# [tool.embers]
# kind = "advisory"
# issues = ["pytorch/pytorch#147848"]
# relation = "same"
# bug_type = "logical"
# consequence = "runtime_error"
# requires = ["cpu", "torch>=2.1"]
# known_bad = ["2.5.1", "2.6.0"]
# fixed_in = "2.7.0"
# signature = "mismatch"
# oracle = "self"
# timeout = 120
# ///
"""Compiles nn.Fold on four by four columns and runs it. It should give the image that the uncompiled module gives.
Instead the generator of C++ code stops at an assertion. The columns are counted numbers in place of random ones."""

import os
import shutil
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed[0]
    return observed


def arithmetic_compiles():
    """Whether a function without the operator under test is compiled and right."""
    import torch

    torch._dynamo.reset()
    x = torch.arange(8.0)
    return torch.compile(lambda values: values * 2 + 1)(x).tolist() == (x * 2 + 1).tolist()


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch
    import torch._dynamo
    from torch._inductor import config

    if shutil.which(os.environ.get("CXX", "g++")) is None:
        return 125, "torch.compile needs a C++ compiler, and there is none"
    config.compile_threads = 1
    torch.set_num_threads(1)
    columns = torch.arange(16.0).reshape(1, 4, 4)
    fold = torch.nn.Fold(output_size=(4, 4), kernel_size=(2, 2), stride=(2, 2))
    truth = fold(columns).tolist()
    try:
        got = torch.compile(fold)(columns).tolist()
    except Exception as error:
        # only the assertion of the generator is the reported failure; a compiler that breaks is another one
        if "AssertionError" not in "%s %s" % (type(error).__name__, error):
            raise
        if not arithmetic_compiles():
            return 125, "the workaround path fails too: compiled arithmetic is wrong"
        return 1, "generating code for nn.Fold stops at an assertion: %s" % type(error).__name__
    got = spoil(got)
    if got == truth:
        return 0, "compiled nn.Fold gives the image of the uncompiled one"
    return 1, "compiled nn.Fold gives another image"


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
