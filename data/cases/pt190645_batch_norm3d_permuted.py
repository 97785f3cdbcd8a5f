# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#190645"]
# relation = "same"
# bug_type = "memory"
# memory_type = "non_contiguous"
# memory_subtype = "input_tensor_management"
# consequence = "crash"
# requires = ["mps"]
# known_bad = []
# signature = ["SIGABRT", "SIGSEGV", "SIGTRAP"]
# oracle = "self"
# timeout = 200
# ///
"""Normalises volumes whose channel axis was moved to the second place. The numbers of the CPU are due. Instead the
process ends with an Objective-C exception about an index out of range. A packed copy is handled."""

import signal
import subprocess
import sys

DEVICE = "mps"
PROGRAM = """
import os, sys, torch

def spoil(observed):
    if os.environ.get("EMBERS_PLANT") == "1":
        os.abort()
    return observed

device, safe = sys.argv[1], sys.argv[2] == "safe"
torch.manual_seed(0)
volumes = torch.randn(2, 6, 4, 5, 3).permute(0, 4, 1, 2, 3)
layer = torch.nn.BatchNorm3d(3)
given = torch.randn(2, 6, 4, 5, 3, device=device).permute(0, 4, 1, 2, 3).copy_(volumes)
got = layer.to(device)(given.contiguous() if safe else given).cpu()
wanted = torch.nn.BatchNorm3d(3)(volumes)
right = torch.allclose(got, wanted, atol=1e-3)
if not safe:
    spoil(None)
sys.exit(0 if right else 4)
"""


def run_apart(word):
    """Run the program in an interpreter of its own, as Metal does not survive a fork; return its exit code."""
    command = [sys.executable, "-c", PROGRAM, DEVICE, word]
    return subprocess.run(command, capture_output=True, timeout=90, check=False).returncode


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    if not torch.backends.mps.is_available():
        return 125, "no MPS device here"
    if run_apart("safe") != 0:
        return 125, "the workaround path fails too: it ends in an exception or a crash"
    ended = run_apart("hostile")
    if ended in (-signal.SIGABRT, -signal.SIGSEGV, -signal.SIGTRAP):
        return 1, "batch normalisation of permuted volumes killed the process: " + signal.Signals(-ended).name
    if ended == 4:
        return 125, "another failure: wrong numbers"
    if ended != 0:
        return 125, "another failure: the process ended with %d" % ended
    return 0, "batch normalisation of permuted volumes runs"


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
