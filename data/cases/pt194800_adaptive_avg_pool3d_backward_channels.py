# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#194800"]
# relation = "same"
# bug_type = "memory"
# memory_type = "checking"
# memory_subtype = "input_checking"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Calls the native backward of the adaptive average pool in three dimensions with an input of two channels and a
gradient of one. It should be refused. Instead the second channel is read from behind the end of the gradient, here from
a number that stands there on purpose."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = [1.0, 77.0]
    return observed


def is_refusal(error):
    """Return True where the message says that the sizes do not fit."""
    words = str(error)
    return any(word in words for word in ("same size", "shape", "size", "match"))


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    memory = torch.tensor([1.0, 77.0])
    gradient = memory[:1].reshape(1, 1, 1, 1, 1)
    image = torch.ones(1, 2, 1, 1, 1)
    backward = torch.ops.aten._adaptive_avg_pool3d_backward
    fitting = backward(torch.ones(1, 2, 1, 1, 1), image).flatten().tolist()
    if fitting != [1.0, 1.0]:
        return 125, "the workaround path fails too: a gradient of two channels gives %s" % fitting
    try:
        got = backward(gradient, image).flatten().tolist()
    except RuntimeError as error:
        if not is_refusal(error):
            raise
        got = error
    got = spoil(got)
    if isinstance(got, Exception):
        return 0, "a gradient with too few channels is refused"
    if 77.0 not in got:
        return 125, "accepted, but the number behind the gradient does not show: %s" % got
    return 1, "a gradient of one channel gives %s: the number behind its end was read" % got


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
