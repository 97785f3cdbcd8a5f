# /// script
# dependencies = ["torch"]
# [tool.embers]
# kind = "advisory"
# issues = ["pytorch/pytorch#151510"]
# relation = "sibling"
# bug_type = "data_type"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "1.13.0", "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.0", "2.7.1", "2.8.0",
#     "2.9.0", "2.9.1", "2.10.0", "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Replaces infinity by the largest 64-bit integer and converts to that type, eagerly. The largest integer should come
out, or the conversion should be refused. Instead the sign is lost: the replaced value is no longer in range in single
precision, and the conversion is not checked. A replacement after the conversion is right."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = -observed
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    largest = torch.iinfo(torch.int64).max
    values = torch.tensor([float("inf"), 2.0])
    after = torch.where(torch.isinf(values), torch.tensor(largest), torch.nan_to_num(values, posinf=0.0).long())
    if after.tolist() != [largest, 2]:
        return 125, "the workaround path fails too: %s" % after.tolist()
    got = torch.nan_to_num(values, posinf=largest).long()
    got = spoil(got)
    # the largest float below 2**63 would be an honest answer, too
    if got[1].item() == 2 and got[0].item() >= 2**63 - 2**39:
        return 0, "infinity became %d" % got[0].item()
    return 1, "infinity became %d in place of %d" % (got[0].item(), largest)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
