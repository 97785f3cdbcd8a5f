# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = []
# bug_type = "memory"
# memory_type = "non_contiguous"
# memory_subtype = "input_tensor_management"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = ["1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0"]
# fixed_in = "2.9.1"
# signature = "mismatch"
# oracle = "self"
# ///
"""Takes means into a lazily negated destination. The means must stand there. Instead the destination's negative bit is
ignored by the last step, and the means have the other sign."""

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

    rows = torch.arange(6.0).view(2, 3)
    out = torch._neg_view(torch.zeros(2))
    torch.nanmean(rows, 1, out=out)
    out = spoil(out)
    dense = torch.zeros(2)
    torch.nanmean(rows, 1, out=dense)
    if dense.tolist() != [1.0, 4.0]:
        return 125, "the workaround path fails too: a dense destination holds %s" % dense.tolist()
    if out.tolist() == [1.0, 4.0]:
        return 0, "the means are [1, 4]"
    return 1, "the means are %s instead of [1, 4]" % out.tolist()


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
