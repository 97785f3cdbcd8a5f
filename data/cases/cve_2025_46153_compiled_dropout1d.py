# /// script
# dependencies = ["torch"]
# [tool.embers]
# kind = "advisory"
# issues = ["pytorch/pytorch#142853"]
# relation = "sibling"
# bug_type = "logical"
# consequence = "silent_correctness"
# requires = ["cpu", "torch>=2.1"]
# known_bad = ["2.6.0"]
# fixed_in = "2.7.0"
# signature = "mismatch"
# oracle = "self"
# ///
"""Drops channels of ones with nn.Dropout1d, traced with the decompositions of the compiler and with its setting that
promises the random numbers of the uncompiled module. From one seed both should drop the same channels. Instead the
decomposition of the draw takes other numbers than the operator on a CPU. No code is generated."""

import os
import sys

BACKEND = "aot_eager_decomp_partition"


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed[::-1]
    return observed


def kept(function, ones):
    """Which numbers of ones function keeps after the same seed, in the order of the indices."""
    import torch

    torch.manual_seed(0)
    return (function(ones) != 0).flatten().tolist()


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch
    import torch._dynamo
    from torch._inductor import config

    config.fallback_random = True
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    ones = torch.ones(8, 8, 4)
    drop = torch.nn.Dropout1d()
    truth = kept(drop, ones)
    if kept(drop, ones) != truth or kept(torch.compile(drop, backend="eager"), ones) != truth:
        return 125, "the workaround path fails too: without decompositions the draw is not repeated"
    torch._dynamo.reset()
    got = kept(torch.compile(drop, backend=BACKEND), ones)
    got = spoil(got)
    if got == truth:
        return 0, "the same channels are dropped"
    return 1, "other channels are dropped: %d of %d numbers differ" % (
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
