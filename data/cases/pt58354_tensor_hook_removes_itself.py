# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#58354"]
# relation = "same"
# bug_type = "memory"
# memory_type = "segment_fault"
# memory_subtype = "invalid_memory_address"
# consequence = "crash"
# requires = ["cpu"]
# known_bad = []
# signature = ["SIGSEGV", "SIGABRT", "SIGBUS"]
# oracle = "self"
# ///
"""Registers a backward hook that removes itself while it runs and is referenced by nothing else. Such one-shot hooks
should be harmless. The report shows the process dying, as the engine asks the freed function for its name."""

import os
import resource
import signal
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        os.kill(os.getpid(), signal.SIGSEGV)
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

    def register(tensor, inside):
        handles = []

        def hook(gradient):
            if inside:
                handles.pop().remove()
            return gradient * 3

        handles.append(tensor.register_hook(hook))

    def one_shot(inside):
        for _ in range(20):
            leaf = torch.ones(2, requires_grad=True)
            doubled = leaf * 2
            register(doubled, inside)
            doubled.sum().backward()
            if leaf.grad.tolist() != [6.0, 6.0]:
                raise ValueError("wrong gradient")

    def hostile():
        try:
            one_shot(inside=True)
        finally:
            spoil(None)

    if in_child(lambda: one_shot(inside=False)) != 0:
        return 125, "the workaround path fails too: hooks that stay registered fail"
    ended = in_child(hostile)
    if ended in (-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS):
        return 1, "a hook that removes itself killed the process: " + signal.Signals(-ended).name
    if ended != 0:
        return 125, "the child ended in an unexpected way: %d" % ended
    return 0, "hooks that remove themselves ran twenty times"


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
