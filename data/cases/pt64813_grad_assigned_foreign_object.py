# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#64813"]
# relation = "same"
# bug_type = "memory"
# memory_type = "segment_fault"
# memory_subtype = "programming"
# consequence = "crash"
# requires = ["cpu"]
# known_bad = []
# signature = ["SIGSEGV", "SIGABRT", "SIGBUS"]
# oracle = "self"
# ///
"""Assigns an instance of an ordinary class to the gradient attribute of a parameter. A TypeError naming the wrong
type is due. The report shows the process dying, as the setter unpacks any object as if it were a tensor."""

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
    return isinstance(error, TypeError) and "assigned grad expected to be a Tensor or None" in str(error)


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

    class Foreign:
        pass

    def hostile():
        parameter = torch.nn.Parameter(torch.ones(2))
        try:
            parameter.grad = Foreign()
            code = 4
        except TypeError as error:
            if not is_refusal(error):
                raise
            code = 0
        finally:
            spoil(None)
        os._exit(code)

    def accepted():
        parameter = torch.nn.Parameter(torch.ones(2))
        parameter.grad = torch.ones(2)
        assert parameter.grad.tolist() == [1.0, 1.0]

    if in_child(accepted) != 0:
        return 125, "the workaround path fails too: a tensor cannot be assigned"
    ended = in_child(hostile)
    if ended in (-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS):
        return 1, "assigning a foreign object killed the process: " + signal.Signals(-ended).name
    if ended != 0:
        return 125, "another failure: the foreign object was not refused with a TypeError (%d)" % ended
    return 0, "the foreign object is refused with a TypeError"


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
