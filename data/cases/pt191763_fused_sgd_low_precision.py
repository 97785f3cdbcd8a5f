# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#191763"]
# relation = "same"
# bug_type = "logical"
# consequence = "silent_correctness"
# requires = ["cpu"]
# known_bad = ["2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0", "2.12.1", "2.13.0"]
# fixed_in = "2.14.1"
# signature = "mismatch"
# oracle = "self"
# ///
"""Steps 64 bfloat16 parameters by fused SGD on the CPU. Each should become a half, as without fusion. Instead whole
vectors keep their old value."""

import os
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed * 0 + 1
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)

    def stepped(dtype, fused):
        parameter = torch.nn.Parameter(torch.ones(64, dtype=dtype))
        parameter.grad = torch.ones(64, dtype=dtype)
        torch.optim.SGD([parameter], lr=0.5, fused=fused).step()
        return parameter.detach().float()

    got = stepped(torch.bfloat16, True)
    got = spoil(got)
    plain, single = stepped(torch.bfloat16, False), stepped(torch.float32, True)
    if (plain != 0.5).any() or (single != 0.5).any():
        return 125, "the workaround path fails too: not fused %g, single precision %g" % (plain[0], single[0])
    if (got == 0.5).all():
        return 0, "all parameters became 0.5"
    return 1, "%d of 64 parameters did not become 0.5, the first is %g" % ((got != 0.5).sum(), got[0])


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
