# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#162730", "pytorch/pytorch#161641", "pytorch/pytorch#162779"]
# relation."pytorch/pytorch#162730" = "unknown"
# relation."pytorch/pytorch#161641" = "same"
# relation."pytorch/pytorch#162779" = "same"
# bug_type = "memory"
# memory_type = "non_contiguous"
# memory_subtype = "input_tensor_management"
# consequence = "silent_correctness"
# requires = ["mps"]
# known_bad = []
# signature = "mismatch"
# oracle = "self"
# ///
"""Applies a linear layer whose weight takes every second row, or every second column, of a bigger matrix. The
product must be the one of a dense copy. Instead the quick kernel reads the weight as if it were packed and
returns plausible, wrong numbers."""

import os
import sys

DEVICE = "mps"


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

    if not torch.backends.mps.is_available():
        return 125, "no MPS device here"
    torch.manual_seed(0)
    rows, big, bias = torch.randn(5, 16), torch.randn(48, 32), torch.randn(24)
    weights = {"rows": big[::2, :16], "columns": big[:24, ::2], "transposed": big[:16, :24].t()}
    for name, weight in weights.items():
        for offset in (None, bias):
            truth = rows.double() @ weight.double().t() + (0 if offset is None else offset.double())
            strided = torch.empty_strided(weight.shape, weight.stride(), device=DEVICE)
            strided.copy_(weight.to(DEVICE))
            given = None if offset is None else offset.to(DEVICE)
            dense = torch.nn.functional.linear(rows.to(DEVICE), strided.contiguous(), given).cpu()
            if not torch.allclose(dense.double(), truth, atol=1e-3):
                return 125, "the workaround path fails too: a dense weight gives wrong numbers"
            got = torch.nn.functional.linear(rows.to(DEVICE), strided, given).cpu()
            got = spoil(got)
            if not torch.allclose(got.double(), truth, atol=1e-3):
                return 1, "weight that skips (%s): %s" % (name, where_off(got, truth))
    return 0, "strided weights give the right product"


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
