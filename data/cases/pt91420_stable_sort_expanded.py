# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#91420"]
# relation = "same"
# bug_type = "memory"
# memory_type = "non_contiguous"
# memory_subtype = "input_tensor_management"
# consequence = "crash"
# requires = ["cpu"]
# known_bad = ["1.13.1"]
# fixed_in = "2.0.1"
# signature = ["SIGFPE", "SIGSEGV", "SIGABRT"]
# oracle = "self"
# ///
"""Sorts a scalar that was expanded to three axes of size one, with stable ordering. A copy of the scalar is due.
Instead the process dies of a division by zero, as the stride of the sorted axis is zero."""

import os
import resource
import signal
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        os.kill(os.getpid(), signal.SIGFPE)
    return observed


def in_child(action, seconds=20):
    """Run action in a forked child; return its exit code (0 done, 3 an exception) or minus its signal."""
    pid = os.fork()
    if pid == 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        signal.alarm(seconds)
        try:
            action()
        except BaseException:
            os._exit(3)
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    return os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    import torch

    def sort(copy):
        value = torch.tensor(1.0).expand(1, 1, 1)
        ordered = torch.sort(value.clone() if copy else value, dim=1, stable=True)
        assert ordered[0].flatten().tolist() == [1.0]
        assert ordered[1].flatten().tolist() == [0]

    def crash():
        try:
            sort(copy=False)
        finally:
            spoil(None)

    if in_child(lambda: torch.sort(torch.ones(1, 1, 1).as_strided((1, 1, 1), (1, 1, 1)), dim=1, stable=True)) != 0:
        return 125, "the workaround path fails too: sorting a dense tensor fails"
    ended = in_child(crash)
    if ended in (-signal.SIGFPE, -signal.SIGSEGV, -signal.SIGABRT):
        return 1, "sorting the expanded scalar killed the process: " + signal.Signals(-ended).name
    if ended != 0:
        return 125, "the child ended in an unexpected way: %d" % ended
    return 0, "the expanded scalar was sorted"


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
