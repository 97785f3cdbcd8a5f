# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#130734", "pytorch/pytorch#131550"]
# relation = "same"
# bug_type = "memory"
# memory_type = "segment_fault"
# memory_subtype = "invalid_memory_address"
# consequence = "crash"
# requires = ["cpu"]
# known_bad = ["1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1"]
# fixed_in = "2.5.1"
# signature = ["mismatch", "SIGSEGV", "SIGABRT", "SIGBUS"]
# oracle = "self"
# ///
"""Leaves a context of saved-tensor hooks from inside its own unpack hook, during backward, as a checkpointing helper
does. However odd, it must leave the count of references to the hooks in order. Instead every round takes one
reference too many, so that hooks are freed while they are in use and the process dies sooner or later; spare
references make the loss countable here."""

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

    def lost(leave_inside, rounds=5):
        scopes = []

        def pack(x):
            return x

        def unpack(x):
            if leave_inside and scopes:
                scopes.pop().__exit__(None, None, None)
            return x

        spare = [(pack, unpack) for _ in range(100)]
        before = sys.getrefcount(pack), sys.getrefcount(unpack)
        for _ in range(rounds):
            weight = torch.nn.Parameter(torch.randn(4, 4))
            with torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x):
                scopes.append(torch.autograd.graph.saved_tensors_hooks(pack, unpack))
                scopes[-1].__enter__()
                (weight * torch.randn(4, 4)).sum().backward()
                if not leave_inside:
                    scopes.pop().__exit__(None, None, None)
            if weight.grad is None:
                raise ValueError("no gradient")
        del weight
        change = min(sys.getrefcount(pack) - before[0], sys.getrefcount(unpack) - before[1])
        return -change if spare else 0

    def count(leave_inside):
        try:
            taken = lost(leave_inside)
        finally:
            if leave_inside:
                spoil(None)
        os._exit(5 if taken > 0 else 0)

    if in_child(lambda: count(leave_inside=False)) != 0:
        return 125, "the workaround path fails too: leaving the context after backward loses references"
    ended = in_child(lambda: count(leave_inside=True))
    if ended == 5:
        return 1, "leaving the context inside the hook takes references that it does not own"
    if ended in (-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS):
        return 1, "leaving the context inside the hook killed the process: " + signal.Signals(-ended).name
    if ended != 0:
        return 125, "the child ended in an unexpected way: %d" % ended
    return 0, "leaving the context inside the hook keeps the references in order"


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
