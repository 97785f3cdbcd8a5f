# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#91606"]
# relation = "same"
# bug_type = "memory"
# memory_type = "indexing"
# memory_subtype = "invalid_memory_access"
# consequence = "crash"
# requires = ["cpu"]
# known_bad = ["1.13.1", "2.0.1"]
# fixed_in = "2.1.2"
# signature = ["SIGSEGV", "SIGABRT", "SIGBUS"]
# oracle = "self"
# ///
"""Looks a value up in a sorted list through a permutation that names element 2**40 of three. Such a permutation
should be refused. Instead the binary search follows it and reads far outside the list."""

import os
import resource
import signal
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        os.kill(os.getpid(), signal.SIGSEGV)
    return observed


def is_refusal(error):
    """True where error is the refusal that is due here, by its type and its words."""
    return isinstance(error, RuntimeError) and "sorter" in str(error)


def in_child(action, seconds=20):
    """Run action in a forked child; return 0 (done), 3 (refused), 6 (another exception) or minus its signal."""
    pid = os.fork()
    if pid == 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        signal.alarm(seconds)
        try:
            action()
        except BaseException as error:
            os._exit(3 if is_refusal(error) else 6)
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    return os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    torch.set_num_threads(1)

    def valid():
        found = torch.searchsorted(torch.tensor([3, 1, 2]), 2, sorter=torch.tensor([1, 2, 0]))
        assert int(found) == 1

    def invalid():
        try:
            torch.searchsorted(torch.tensor([1, 2, 3]), 2, sorter=torch.tensor([0, 1 << 40, 1 << 40]))
        finally:
            spoil(None)

    if in_child(valid) != 0:
        return 125, "the workaround path fails too: a valid call does not give the known values"
    ended = in_child(invalid)
    if ended in (-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS):
        return 1, "a sorter that points to element 2**40, the process died of %s" % signal.Signals(-ended).name
    if ended not in (0, 3):
        return 125, "the child ended in an unexpected way: %d" % ended
    return 0, "a sorter that points to element 2**40: " + (
        "refused by an exception" if ended == 3 else "returned normally"
    )


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
