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
"""Takes the median without NaN along the axis along which three numbers are expanded. Each median must be the number
itself. Instead the expanded axis is read as if its elements lay one behind the other, so that values come from
memory outside the tensor."""

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

    memory = torch.full((64,), 77.0)
    memory[:3] = torch.tensor([3.0, 1.0, 2.0])
    rows = memory[:3].view(3, 1).expand(3, 9)
    truth = memory[:3].clone()
    got = torch.nanmedian(rows, 1).values
    got = spoil(got)
    dense = torch.nanmedian(rows.contiguous(), 1).values
    if not torch.equal(dense, truth):
        return 125, "the workaround path fails too: the medians of a dense copy are %s" % dense.tolist()
    if torch.equal(got, truth):
        return 0, "the medians are %s" % got.tolist()
    return 1, "the medians are %s instead of %s; 77 stands outside the tensor" % (got.tolist(), truth.tolist())


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
