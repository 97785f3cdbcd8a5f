# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#188128"]
# relation = "sibling"
# bug_type = "data_type"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0", "2.14.1",
# ]
# fixed_in = "2.15.0"
# signature = "mismatch"
# oracle = "self"
# ///
"""Makes a tensor of a buffer that says that it holds four truth values. It should have those four. Instead it has one
single-precision number, made of the four bytes."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = [2.4e-38]
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    values = [True, False, True, True]
    buffer = memoryview(bytearray(values)).cast("?")
    if buffer.tolist() != values or torch.asarray(buffer, dtype=torch.bool).tolist() != values:
        return 125, "the workaround path fails too: the buffer with a given type is not read as it should be"
    got = torch.asarray(buffer).tolist()
    got = spoil(got)
    if got == values:
        return 0, "the truth values are %s" % got
    return 1, "four truth values became %s" % got


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
