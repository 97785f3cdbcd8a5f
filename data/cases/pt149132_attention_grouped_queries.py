# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#149132"]
# relation = "same"
# bug_type = "logical"
# consequence = "crash"
# requires = ["mps", "torch>=2.5"]
# known_bad = []
# signature = ["SIGABRT", "SIGSEGV", "SIGTRAP"]
# oracle = "self"
# timeout = 200
# ///
"""Calls attention with four query heads and two key heads, as models with grouped queries do. The result of repeated
key heads is due. Instead the graph compiler finds dimensions that do not fit and ends the process."""

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
query, key, value = torch.randn(1, 4, 8, 16), torch.randn(1, 2, 8, 16), torch.randn(1, 2, 8, 16)
attention = torch.nn.functional.scaled_dot_product_attention
wanted = attention(query, key.repeat_interleave(2, 1), value.repeat_interleave(2, 1))
query, key, value = query.to(device), key.to(device), value.to(device)
if not safe:
    got = attention(query, key, value, enable_gqa=True)
else:
    got = attention(query, key.repeat_interleave(2, 1), value.repeat_interleave(2, 1))
right = torch.allclose(got.cpu(), wanted, atol=1e-3)
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
        return 1, "attention with grouped queries killed the process: " + signal.Signals(-ended).name
    if ended == 4:
        return 125, "another failure: wrong numbers"
    if ended != 0:
        return 125, "another failure: the process ended with %d" % ended
    return 0, "attention with grouped queries runs"


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
