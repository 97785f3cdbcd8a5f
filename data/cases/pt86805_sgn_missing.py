# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#86805", "pytorch/pytorch#110829"]
# relation = "sibling"
# bug_type = "other"
# consequence = "runtime_error"
# requires = ["mps"]
# known_bad = []
# signature = "NotImplementedError: not currently implemented"
# oracle = "self"
# ///
"""Takes the sign of a matrix by the operator that also knows complex numbers. It should be computed. Instead the
operator is not there."""

import os
import sys

DEVICE = "mps"


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        raise NotImplementedError("not currently implemented for the MPS device (injected)")
    return observed


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    if not torch.backends.mps.is_available():
        return 125, "no MPS device here"
    if os.environ.get("PYTORCH_ENABLE_MPS_FALLBACK") == "1":
        return 125, "falling back to the CPU is switched on, which hides a missing operator"
    torch.manual_seed(0)
    matrix = torch.randn(4, 4)
    run = torch.sgn
    truth = torch.where(matrix > 0, torch.ones(4, 4), -torch.ones(4, 4))
    if not torch.allclose(run(matrix.to(DEVICE).cpu()), truth, atol=1e-4):
        return 125, "the workaround path fails too: a round trip by the CPU gives wrong numbers"
    try:
        got = run(matrix.to(DEVICE)).cpu()
        got = spoil(got)
    except NotImplementedError as error:
        if "not currently implemented" in str(error):
            return 1, "NotImplementedError: " + str(error).partition(".")[0]
        raise
    if not torch.allclose(got, truth, atol=1e-3):
        return 125, "another failure: sgn is there and gives wrong numbers"
    return 0, "sgn is there and right"


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
