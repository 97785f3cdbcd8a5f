# /// script
# dependencies = ["torch"]
# [tool.embers]
# kind = "advisory"
# issues = ["pytorch/pytorch#151522"]
# relation = "same"
# bug_type = "logical"
# consequence = "runtime_error"
# requires = ["cpu", "torch>=2.1"]
# known_bad = ["2.6.0", "2.7.0", "2.7.1"]
# signature = "mismatch"
# oracle = "self"
# timeout = 120
# ///
"""Compiles a function that makes a tensor of one number sparse and dense again. It should give the number back, as it
does without a compiler. Instead the compiler finds no kernel for the way back."""

import os
import shutil
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = [[2.0]]
    return observed


def there_and_back(x):
    return x.to_sparse().to_dense()


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch
    import torch._dynamo
    from torch._inductor import config

    if shutil.which(os.environ.get("CXX", "g++")) is None:
        return 125, "torch.compile needs a C++ compiler, and there is none"
    config.compile_threads = 1
    torch.set_num_threads(1)
    one = torch.tensor([[1.0]])
    try:
        dense = torch.compile(there_and_back)(one)
    except Exception as error:
        text = "%s %s" % (type(error).__name__, error)
        # the two words of the report: the lowering fails, on the way back to a dense tensor
        if "LoweringException" not in text or "_to_dense" not in text:
            raise
        if there_and_back(one).tolist() != [[1.0]]:
            return 125, "the workaround path fails too: the uncompiled function is wrong"
        return 1, "the lowering of _to_dense fails: no kernel is found"
    got = dense.tolist()
    got = spoil(got)
    if got == [[1.0]]:
        return 0, "compiled, the number comes back"
    return 1, "compiled, %s comes back" % got


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
