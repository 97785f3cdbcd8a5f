# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#52062", "pytorch/pytorch#49895"]
# relation."pytorch/pytorch#52062" = "same"
# relation."pytorch/pytorch#49895" = "sibling"
# bug_type = "memory"
# memory_type = "non_contiguous"
# memory_subtype = "input_tensor_management"
# consequence = "runtime_error"
# requires = ["cuda"]
# known_bad = []
# signature = "RuntimeError: not implemented for 'Bool'"
# oracle = "self"
# ///
"""Flips a boolean vector that skips every second element, on the GPU. It should come back reversed, as dense ones
do. Instead the strided path of the kernel does not know the type."""

import os
import sys

DEVICE = "cuda"


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        raise RuntimeError("not implemented for 'Bool' (injected)")
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    if not torch.cuda.is_available():
        return 125, "no CUDA device here"
    flags = torch.tensor([True, False, True, False, False, True, True, True])
    visible = flags.to(DEVICE)[::2]
    truth = torch.tensor([True, False, True, True])
    if not torch.equal(torch.flip(visible.contiguous(), [0]).cpu(), truth):
        return 125, "the workaround path fails too: a dense vector is flipped wrong"
    try:
        got = torch.flip(visible, [0]).cpu()
        got = spoil(got)
    except RuntimeError as error:
        if "not implemented for 'Bool'" in str(error):
            return 1, "RuntimeError: " + str(error).partition("\n")[0]
        raise
    if not torch.equal(got, truth):
        return 125, "another failure: the skipping vector is flipped wrong"
    return 0, "the skipping vector is flipped right"


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
