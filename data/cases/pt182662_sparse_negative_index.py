# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#182662", "pytorch/pytorch#153329"]
# relation."pytorch/pytorch#182662" = "same"
# relation."pytorch/pytorch#153329" = "sibling"
# bug_type = "memory"
# memory_type = "indexing"
# memory_subtype = "invalid_memory_access"
# consequence = "crash"
# requires = ["cpu"]
# known_bad = [
#     "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0",
#     "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = ["SIGSEGV", "SIGABRT", "SIGBUS"]
# oracle = "self"
# ///
"""Turns a sparse matrix with a hugely negative index into a dense one. Some step should compare the index with the
shape. Instead it is used as an offset, and the value is written to an address below the result."""

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
    return isinstance(error, (RuntimeError, ValueError, IndexError)) and "negative index" in str(error)


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
        seen = torch.sparse_coo_tensor(torch.tensor([[1]]), torch.tensor([5.0]), (2,)).to_dense()
        assert seen.tolist() == [0.0, 5.0]

    def invalid():
        try:
            torch.sparse_coo_tensor(torch.tensor([[-(1 << 42)]]), torch.tensor([-16.0]), (1,)).to_dense()
        finally:
            spoil(None)

    if in_child(valid) != 0:
        return 125, "the workaround path fails too: a valid call does not give the known values"
    ended = in_child(invalid)
    if ended in (-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS):
        return 1, "a sparse index of -2**42, the process died of %s" % signal.Signals(-ended).name
    if ended not in (0, 3):
        return 125, "the child ended in an unexpected way: %d" % ended
    return 0, "a sparse index of -2**42: " + ("refused by an exception" if ended == 3 else "returned normally")


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
