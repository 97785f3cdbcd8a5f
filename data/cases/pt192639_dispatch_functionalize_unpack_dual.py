# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#192639"]
# relation = "same"
# bug_type = "logical"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = [
#     "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0", "2.12.1", "2.13.0",
#     "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Takes a dual tensor apart inside of a function that dispatch_functionalize wraps. Its tangent should be there, as in
a plain call. Instead there is none, as the wrapper is asked and not the tensor inside."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = None
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)
    from torch._subclasses.functional_tensor import dispatch_functionalize
    from torch.autograd import forward_ad

    def look(tensor):
        tangents.append(forward_ad.unpack_dual(tensor).tangent is not None)
        return tensor * 3

    tangents = []
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(torch.zeros(4), torch.ones(4))
        look(dual)
        if tangents != [True]:
            return 125, "the workaround path fails too: in a plain call the tangent is missing"
        dispatch_functionalize(look)(dual)
    got = tangents[1]
    got = spoil(got)
    if got:
        return 0, "the tangent is there"
    return 1, "inside of the wrapped function the dual tensor has no tangent"


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
