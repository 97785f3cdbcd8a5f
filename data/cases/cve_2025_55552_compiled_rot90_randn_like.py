# /// script
# dependencies = ["torch"]
# [tool.embers]
# kind = "advisory"
# issues = ["pytorch/pytorch#147847"]
# relation = "sibling"
# bug_type = "memory"
# memory_type = "non_contiguous"
# consequence = "silent_correctness"
# requires = ["cpu", "torch>=2.1"]
# known_bad = ["2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.0", "2.7.1", "2.8.0"]
# fixed_in = "2.9.1"
# signature = "mismatch"
# oracle = "self"
# ///
"""Draws random numbers like a rotated tensor, traced with the decompositions of the compiler and with its setting that
promises the random numbers of the uncompiled function. The same seed should give the same numbers in the same places,
and so it does for a contiguous copy. Instead the numbers are in other places. No code is generated."""

import os
import sys

BACKEND = "aot_eager_decomp_partition"


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed[::-1]
    return observed


def like_rotated(x):
    import torch

    return torch.randn_like(torch.rot90(x, k=1, dims=[2, 3]))


def like_contiguous(x):
    import torch

    return torch.randn_like(torch.rot90(x, k=1, dims=[2, 3]).contiguous())


def drawn(function, x):
    """What function draws after the same seed, as a list in the order of the indices."""
    import torch

    torch.manual_seed(0)
    return function(x).flatten().tolist()


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch
    import torch._dynamo
    from torch._inductor import config

    config.fallback_random = True
    torch.set_num_threads(1)
    x = torch.zeros(1, 1, 2, 3)
    if drawn(torch.compile(like_contiguous, backend=BACKEND), x) != drawn(like_contiguous, x):
        return 125, "the workaround path fails too: numbers like a contiguous copy differ"
    torch._dynamo.reset()
    got, truth = drawn(torch.compile(like_rotated, backend=BACKEND), x), drawn(like_rotated, x)
    got = spoil(got)
    if got == truth:
        return 0, "the same numbers in the same places"
    kind = "the same numbers in other places" if sorted(got) == sorted(truth) else "other numbers"
    return 1, "%s: %d of %d differ" % (kind, sum(a != b for a, b in zip(got, truth)), len(truth))  # noqa: B905


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
