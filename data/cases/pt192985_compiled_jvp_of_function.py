# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#192985"]
# relation = "same"
# bug_type = "logical"
# consequence = "silent_correctness"
# requires = ["cpu", "torch>=2.0"]
# known_bad = ["2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0"]
# signature = "mismatch"
# oracle = "self"
# ///
"""Compiles torch.func.jvp of an autograd.Function that is the sine and whose own jvp gives zeros. The tangent should be
zero. Instead the own jvp is dropped without a word, and the tangent is that of the sine: one at zero."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed * 0 + 1
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)

    class Sine(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return torch.sin(x)

        @staticmethod
        def setup_context(_ctx, _inputs, _output):
            pass

        @staticmethod
        def backward(_ctx, grad):
            return grad * 0

        @staticmethod
        def jvp(_ctx, tangent):
            return tangent * 0

    def tangent_of(x, tangent):
        return torch.func.jvp(Sine.apply, (x,), (tangent,))[1]

    x, tangent = torch.zeros(4), torch.ones(4)
    truth = [0.0] * 4
    if tangent_of(x, tangent).tolist() != truth:
        return 125, "the workaround path fails too: uncompiled the tangent is not zero"
    got = torch.compile(tangent_of, backend="eager")(x, tangent)
    got = spoil(got)
    if got.tolist() == truth:
        return 0, "compiled, the tangent is that of the function's own jvp"
    return 1, "compiled, the tangent is %s instead of zeros" % got.tolist()


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
