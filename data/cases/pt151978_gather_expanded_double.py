# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#151978"]
# relation = "same"
# bug_type = "memory"
# memory_type = "non_contiguous"
# memory_subtype = "input_tensor_management"
# consequence = "silent_correctness"
# requires = ["cuda"]
# known_bad = []
# signature = "mismatch"
# oracle = "self"
# ///
"""Gathers from a double-precision tensor on the GPU with an index that was expanded over the last axis. Each batch
entry must return its own element. Instead all return the same one."""

import os
import sys

DEVICE = "cuda"


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        observed = observed + 1
    return observed


def where_off(got, expected):
    """Say by how much got differs from expected, and where most."""
    off = (got.detach().cpu().double() - expected.detach().cpu().double()).abs().nan_to_num(float("inf"))
    at, place = int(off.argmax()), []
    for size in reversed(off.shape):
        place.insert(0, at % size)
        at //= size
    return "off by up to %g at %s" % (off.max(), tuple(place))


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    if not torch.cuda.is_available():
        return 125, "no CUDA device here"
    torch.manual_seed(0)
    source = torch.rand(3, 5, 2, dtype=torch.float64)
    index = torch.zeros(3, 1, dtype=torch.long, device=DEVICE).unsqueeze(-1).expand(3, 1, 2)
    truth = source[:, :1]
    if not torch.equal(torch.gather(source.to(DEVICE), -2, index.contiguous()).cpu(), truth):
        return 125, "the workaround path fails too: a dense index picks wrong elements"
    got = torch.gather(source.to(DEVICE), -2, index).cpu()
    got = spoil(got)
    if torch.equal(got, truth):
        return 0, "the expanded index picks the right elements"
    return 1, "the expanded index: " + where_off(got, truth)


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
