# /// script
# dependencies = ["torch"]
# [tool.embers]
# kind = "advisory"
# issues = ["pytorch/pytorch#151523"]
# relation = "same"
# bug_type = "logical"
# consequence = "runtime_error"
# requires = ["cpu", "torch>=2.1"]
# known_bad = []
# signature = "mismatch"
# oracle = "self"
# timeout = 120
# ///
"""Compiles a convolution whose result goes through hardshrink with a bound of zero, is flattened and multiplied by a
matrix, with the sizes of the report. It should run, as it does without a compiler. Instead the generated C++ code does
not compile. Weights and image are ones: each sum is exact."""

import os
import shutil
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = [value * 2 for value in observed]
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
    torch.set_grad_enabled(False)
    conv = torch.nn.Conv2d(in_channels=3, out_channels=16, kernel_size=(1, 7), stride=(2, 1), padding=0)
    conv.weight.fill_(1.0)
    conv.bias.fill_(0.0)
    image, rows = torch.ones(2, 3, 127, 255), torch.ones(10, 254976)

    def shrunk_rows(image, rows):
        kept = torch.nn.functional.hardshrink(conv(image), lambd=0)
        return torch.mv(rows, kept.view(kept.size(0), -1)[0])

    truth = shrunk_rows(image, rows)
    try:
        sums = torch.compile(shrunk_rows)(image, rows)
    except Exception as error:
        if "CppCompileError" not in "%s %s" % (type(error).__name__, error):
            raise
        torch._dynamo.reset()
        if torch.compile(lambda values: values * 2 + 1)(truth).tolist() != (truth * 2 + 1).tolist():
            return 125, "the workaround path fails too: compiled arithmetic is wrong"
        return 1, "the generated C++ code does not compile"
    got = sums.tolist()
    got = spoil(got)
    if got == truth.tolist():
        return 0, "the compiled function gives the sums of the uncompiled one"
    return 1, "the compiled function gives %s in place of %s" % (got[:2], truth[:2].tolist())


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
