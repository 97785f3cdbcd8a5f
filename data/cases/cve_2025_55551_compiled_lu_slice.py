# /// script
# dependencies = ["torch"]
# [tool.embers]
# kind = "advisory"
# issues = ["pytorch/pytorch#151401"]
# relation = "same"
# bug_type = "logical"
# consequence = "runtime_error"
# requires = ["cpu", "torch>=2.1"]
# known_bad = ["2.6.0", "2.7.0", "2.7.1", "2.8.0"]
# fixed_in = "2.9.1"
# signature = "mismatch"
# oracle = "self"
# ///
"""Compiles a function that takes the first two of the three results of torch.linalg.lu by a slice. It should give the
same factors as without the compiler, and so it does where the results are named one by one. Instead the tracer fails.
No code is generated: the backend runs what was traced as it is."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed[::-1]
    return observed


def by_slice(x):
    import torch

    permutation, lower = torch.linalg.lu(x)[:2]
    return permutation, lower


def by_name(x):
    import torch

    permutation, lower, _ = torch.linalg.lu(x)
    return permutation, lower


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch
    import torch._dynamo

    x = torch.tensor([[4.0, 3.0], [6.0, 3.0]])
    truth = [part.tolist() for part in by_name(x)]
    named = torch.compile(by_name, backend="eager")(x)
    if [part.tolist() for part in named] != truth:
        return 125, "the workaround path fails too: the named results differ"
    torch._dynamo.reset()
    try:
        got = [part.tolist() for part in torch.compile(by_slice, backend="eager")(x)]
    except Exception as error:
        # words of the two errors that were reported of this slice: by the tracer, and by the named tuple that it makes
        if not any(words in str(error) for words in ("dynamic_attributes", "-sequence given")):
            raise
        return 1, "the tracer fails on the slice: %s" % type(error).__name__
    got = spoil(got)
    if got == truth:
        return 0, "the sliced results are those of the uncompiled function"
    return 1, "the sliced results differ from those of the uncompiled function"


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
