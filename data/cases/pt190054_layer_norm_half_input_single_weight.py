# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#190054"]
# relation = "same"
# bug_type = "data_type"
# consequence = "crash"
# requires = ["mps"]
# known_bad = []
# signature = ["SIGABRT", "SIGSEGV", "SIGTRAP", "mismatch"]
# oracle = "self"
# timeout = 200
# ///
"""Normalises half-precision rows with a weight and a bias in single precision, forward and backward. The numbers of
the CPU are due, up to half precision. Instead the bits of the weight are read as half precision, so that the
output is garbage, and the backward pass ends the process."""

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
rows, weight, bias = torch.randn(4, 16), torch.rand(16) + 0.5, torch.randn(16)
norm = torch.nn.functional.layer_norm
wanted = norm(rows.half().float(), (16,), weight, bias)
half = rows.half().to(device).requires_grad_()
kind = torch.float16 if safe else torch.float32
affine = [x.to(device).to(kind).requires_grad_() for x in (weight, bias)]
got = norm(half, (16,), *affine)
if not torch.allclose(got.float().cpu(), wanted, atol=0.05):
    sys.exit(4)
got.float().sum().backward()
finite = half.grad is not None and torch.isfinite(half.grad).all()
if not safe:
    spoil(None)
sys.exit(0 if finite else 4)
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
        return (
            1,
            "normalising half-precision rows with a single-precision weight killed the process: "
            + signal.Signals(-ended).name,
        )
    if ended == 4:
        return 1, "the normalised rows are wrong"
    if ended != 0:
        return 125, "another failure: the process ended with %d" % ended
    return 0, "normalising half-precision rows with a single-precision weight runs"


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
