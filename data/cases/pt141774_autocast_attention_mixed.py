# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#141774", "pytorch/pytorch#141776"]
# relation."pytorch/pytorch#141774" = "sibling"
# relation."pytorch/pytorch#141776" = "same"
# bug_type = "data_type"
# consequence = "runtime_error"
# requires = ["mps", "torch>=2.5"]
# known_bad = []
# signature = "RuntimeError: same dtype"
# oracle = "self"
# ///
"""Calls attention under autocast with a value tensor in another precision than query and key. Autocast should bring
them to one precision. Instead the operator is not on its list for this device, and the call is refused."""

import os
import sys

DEVICE = "mps"


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        raise RuntimeError("Expected query, key, and value to have the same dtype (injected)")
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    if not torch.backends.mps.is_available():
        return 125, "no MPS device here"
    torch.manual_seed(0)
    query, key, value = (torch.randn(1, 2, 8, 16) for _ in range(3))
    truth = torch.softmax(query.double() @ key.double().mT / 4, -1) @ value.double()
    attention = torch.nn.functional.scaled_dot_product_attention
    half = [x.half().to(DEVICE) for x in (query, key, value)]
    if not torch.allclose(
        attention(*half).double().cpu() if DEVICE == "cpu" else attention(*half).cpu().double(), truth, atol=0.05
    ):
        return 125, "the workaround path fails too: attention in one precision gives wrong numbers"
    try:
        with torch.autocast(device_type=DEVICE, dtype=torch.float16):
            got = attention(half[0], half[1], value.to(DEVICE)).cpu()
        spoil(None)
    except RuntimeError as error:
        if "same dtype" in str(error):
            return 1, "RuntimeError: " + str(error).partition(",")[0]
        raise
    if not torch.allclose(got.double(), truth, atol=0.05):
        return 125, "another failure: mixed precisions are accepted and give wrong numbers"
    return 0, "autocast brings the operands to one precision"


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
