# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#192629"]
# relation = "sibling"
# bug_type = "logical"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0",
#     "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Asks for the tangent of a dual number inside a function that functionalize runs. It should be there, as it is
without functionalize. Instead there seems to be none, although the result of the function has one: code that
decides by it takes the branch without derivatives."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = False
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    forward_ad = torch.autograd.forward_ad
    seen = []

    def probe(number):
        seen.append(forward_ad.unpack_dual(number).tangent is not None)
        return number * 2

    with forward_ad.dual_level():
        dual = forward_ad.make_dual(torch.tensor([3.0]), torch.tensor([5.0]))
        probe(dual)
        direct = seen.pop()
        result = forward_ad.unpack_dual(torch.func.functionalize(probe)(dual))
        got = seen.pop()
    got = spoil(got)
    if not direct or result.primal.item() != 6.0 or result.tangent is None or result.tangent.item() != 10.0:
        return 125, "the workaround path fails too: seen directly %s, result %s" % (direct, result)
    if got:
        return 0, "the tangent of the argument is seen under functionalize too"
    return 1, "under functionalize the argument has no tangent, yet the result has %s" % result.tangent.tolist()


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
