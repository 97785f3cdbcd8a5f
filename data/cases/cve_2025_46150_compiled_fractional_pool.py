# /// script
# dependencies = ["torch"]
# [tool.embers]
# kind = "advisory"
# issues = ["pytorch/pytorch#141538"]
# relation = "same"
# bug_type = "logical"
# consequence = "silent_correctness"
# requires = ["cpu", "torch>=2.1"]
# known_bad = ["2.6.0"]
# signature = "mismatch"
# oracle = "self"
# timeout = 120
# ///
"""Pools a ten by ten image to half its size with FractionalMaxPool2d and windows of one pixel, compiled and not, with
the setting that promises the random numbers of the uncompiled function. From one seed both should choose the same
pixels. Instead the compiled module chooses others. The image counts its pixels in place of random ones."""

import os
import shutil
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed[::-1]
    return observed


def chosen(function, image):
    """The pixels that function chooses after the same seed, in the order of the indices."""
    import torch

    torch.manual_seed(0)
    return function(image).flatten().tolist()


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
    image = torch.arange(100.0).reshape(1, 1, 10, 10)
    pool = torch.nn.FractionalMaxPool2d(kernel_size=(1, 1), output_ratio=(0.5, 0.5))
    truth = chosen(pool, image)
    if chosen(pool, image) != truth or chosen(torch.compile(pool, backend="eager"), image) != truth:
        return 125, "the workaround path fails too: without generated code the choice is not repeated"
    torch._dynamo.reset()
    got = chosen(torch.compile(pool), image)
    got = spoil(got)
    if got == truth:
        return 0, "the compiled pooling chooses the pixels of the uncompiled one"
    return 1, "the compiled pooling chooses other pixels: %d of %d differ" % (
        sum(a != b for a, b in zip(got, truth)),  # noqa: B905
        len(truth),
    )


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
