# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#197110"]
# relation = "same"
# bug_type = "logical"
# consequence = "silent_correctness"
# requires = ["cpu", "torch>=2.0"]
# known_bad = ["2.8.0", "2.9.1", "2.10.0", "2.11.0", "2.12.1", "2.13.0", "2.14.1"]
# fixed_in = "2.15.0"
# signature = "mismatch"
# oracle = "self"
# ///
"""Compiles a function that makes a KeyError of the key k and returns its text. The text of a KeyError is the key as it
is written in code, in quotes: 'k'. Instead the compiled function returns k without quotes."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed.strip("'")
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)

    def text_of_error(x):
        return x + 1, str(KeyError("k"))

    truth = "'k'"
    if text_of_error(torch.ones(2))[1] != truth:
        return 125, "the workaround path fails too: uncompiled the text has no quotes"
    got = torch.compile(text_of_error, backend="eager")(torch.ones(2))[1]
    got = spoil(got)
    if got == truth:
        return 0, "compiled, the text of the error is %s" % got
    return 1, "compiled, the text of the error is %s instead of %s" % (got, truth)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
