# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = []
# bug_type = "memory"
# memory_type = "non_contiguous"
# memory_subtype = "input_tensor_management"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Pools one lazily negated number, the imaginary part of a conjugated tensor, over windows of one element. The number
must come out as it is. Instead the memory is read without the negative bit, and the sign is lost."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed + 1
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    number = torch.tensor([[[1 + 2j]]]).conj().imag
    got = torch.nn.functional.max_pool1d(number, 1).item()
    got = spoil(got)
    dense = torch.nn.functional.max_pool1d(number.resolve_neg().clone(), 1).item()
    if dense != -2.0 or number.item() != -2.0:
        return 125, "the workaround path fails too: a copy of -2 is pooled to %g" % dense
    if got == -2.0:
        return 0, "-2 is pooled to -2"
    return 1, "-2 is pooled to %g" % got


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
