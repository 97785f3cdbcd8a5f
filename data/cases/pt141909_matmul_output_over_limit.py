# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#141909", "pytorch/pytorch#143095"]
# relation."pytorch/pytorch#141909" = "sibling"
# relation."pytorch/pytorch#143095" = "same"
# bug_type = "memory"
# memory_type = "indexing"
# memory_subtype = "overflow"
# consequence = "runtime_error"
# requires = ["mps", "memory>=32GiB"]
# known_bad = []
# signature = "RuntimeError: larger than currently supported"
# oracle = "self"
# ///
"""Multiplies a column by a row so that the product has more than 2**32 elements in half precision. The product
should be formed in parts where one call cannot hold it. Instead the call is refused."""

import os
import sys

DEVICE = "mps"


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        raise RuntimeError("Output size of the matrix multiplication is larger than currently supported (injected)")
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    if not torch.backends.mps.is_available():
        return 125, "no MPS device here"
    side = 72_250
    column = (torch.arange(side) % 7).to(torch.float16).to(DEVICE)
    row = (torch.arange(side) % 5).to(torch.float16).to(DEVICE)
    parts = (column[-3:, None] @ row[None]).cpu()
    if not torch.equal(parts, (torch.arange(side) % 7)[-3:, None].half() * (torch.arange(side) % 5).half()):
        return 125, "the workaround path fails too: three rows of the product are wrong"
    try:
        product = torch.bmm(column[None, :, None], row[None, None])
        product = spoil(product)
    except RuntimeError as error:
        if "larger than currently supported" in str(error):
            return 1, "RuntimeError: " + str(error).partition(":")[0]
        raise
    if not torch.equal(product[0, -3:].cpu(), parts):
        return 125, "another failure: the product is formed, its last rows are wrong"
    return 0, "the product of more than 2**32 elements is right"


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
