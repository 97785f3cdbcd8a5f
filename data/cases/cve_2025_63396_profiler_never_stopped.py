# /// script
# dependencies = ["torch"]
# [tool.embers]
# kind = "advisory"
# issues = ["pytorch/pytorch#156563"]
# relation = "same"
# bug_type = "thread_management"
# consequence = "hang"
# requires = ["cpu"]
# timeout = 120
# known_bad = [
#     "1.13.0", "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.0", "2.7.1", "2.8.0",
#     "2.9.1", "2.10.0", "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = ["hang", "SIGSEGV", "SIGABRT"]
# oracle = "self"
# ///
"""Starts a profiler that records stacks, takes five steps, and asks for its table without having stopped it. The table
may be refused or empty, but the program must come to its end, as it does where the profiler is stopped. Instead its
interpreter hangs or dies when it ends."""

import os
import signal
import subprocess
import sys

WAIT = 8
PROGRAM = """
import os
import signal
import sys

import torch


def spoil(observed):
    if os.environ.get("EMBERS_PLANT") == "1":
        signal.pause()
    return observed

torch.set_num_threads(1)
profiler = torch.profiler.profile(
    activities=[torch.profiler.ProfilerActivity.CPU],
    record_shapes=True,
    profile_memory=True,
    with_stack=True,
    with_flops=True,
)
profiler.start()
x = torch.ones(8, 8)
for _ in range(5):
    x @ x
    profiler.step()
if "stopped" in sys.argv:
    profiler.stop()
try:
    profiler.key_averages().table(sort_by="cpu_time_total", row_limit=5)
except RuntimeError as error:
    if "finish running" not in str(error):
        raise
sys.stdout.write("told\\n")
sys.stdout.flush()
if "never stopped" in sys.argv:
    spoil(None)
"""


def ended(word):
    """Run the program with a word; its exit code, minus its signal, None where it told all and does not end."""
    with open(os.devnull, "wb") as nowhere:
        child = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", PROGRAM, word], stdout=subprocess.PIPE, stderr=nowhere
        )
        try:
            if not child.stdout.readline().startswith(b"told"):
                return child.wait() or 1
            try:
                return child.wait(WAIT)
            except subprocess.TimeoutExpired:
                return None
        finally:
            child.kill()
            child.wait()
            child.stdout.close()


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    if ended("stopped") != 0:
        return 125, "the workaround path fails too: the program with a stopped profiler does not end well"
    code = ended("never stopped")
    if code is None:
        return 1, "with a profiler that was not stopped the program did not end within %d s (hang)" % WAIT
    if code in (-signal.SIGSEGV, -signal.SIGABRT):
        return 1, "with a profiler that was not stopped the program died of %s" % signal.Signals(-code).name
    if code != 0:
        return 125, "the program ended in an unexpected way: %d" % code
    return 0, "a program with a profiler that was not stopped ends"


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
