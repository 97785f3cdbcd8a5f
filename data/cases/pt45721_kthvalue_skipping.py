# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#45721", "pytorch/pytorch#45802"]
# relation."pytorch/pytorch#45721" = "sibling"
# relation."pytorch/pytorch#45802" = "same"
# bug_type = "memory"
# memory_type = "non_contiguous"
# memory_subtype = "input_tensor_management"
# consequence = "silent_correctness"
# requires = ["cuda"]
# known_bad = []
# signature = "mismatch"
# oracle = "self"
# ///
"""Asks for the k-th smallest element of a vector that skips every second element, on the GPU. Only the visible
elements count. Instead the kernel reads consecutive memory and ranks the skipped ones as well."""

import os
import sys

DEVICE = "cuda"


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed += 1
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    if not torch.cuda.is_available():
        return 125, "no CUDA device here"
    numbers = torch.tensor([9.0, -1.0, 3.0, -2.0, 7.0, -3.0, 5.0, -4.0, 1.0, -5.0])
    visible = numbers.to(DEVICE)[::2]
    for k in range(1, 6):
        truth = 2.0 * k - 1
        if float(torch.kthvalue(visible.contiguous(), k)[0]) != truth:
            return 125, "the workaround path fails too: a dense vector gives a wrong rank"
        value, place = torch.kthvalue(visible, k)
        value, place = float(value), int(place)
        value = spoil(value)
        if value != truth or float(numbers[::2][place]) != truth:
            return 1, "rank %d of the skipping vector: got %g at %d, expected %g" % (k, value, place, truth)
    return 0, "every rank of the skipping vector is right"


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
