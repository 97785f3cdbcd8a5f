# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#130734"]
# bug_type = "memory"
# memory_type = "segment_fault"
# memory_subtype = "invalid_memory_address"
# consequence = "crash"
# requires = ["cpu"]
# known_bad = []
# signature = ["SIGSEGV", "SIGABRT", "SIGBUS", "TypeError: not callable"]
# oracle = "self"
# ///
"""Leaves a context of saved-tensor hooks from inside its own unpack hook, during backward, as a checkpointing helper
does. However odd, it must not harm the interpreter. Instead the hooks on the stack are freed while they are in
use, and the process dies or calls some other object."""

import os
import resource
import signal
import sys

PLANT = os.environ.get("EMBERS_PLANT") == "1"


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

    def train(leave_inside):
        import gc

        for _ in range(10):
            weight = torch.nn.Parameter(torch.randn(101, 103))

            class Handler:
                def __init__(self):
                    self.scope = torch.autograd.graph.saved_tensors_hooks(self.pack, self.unpack)
                    self.scope.__enter__()
                    self.left = False

                def pack(self, x):
                    return x

                def unpack(self, x):
                    if leave_inside and not self.left:
                        self.left = True
                        self.scope.__exit__()
                    return x

            with torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x):
                handler = Handler()
                (weight * torch.randn(101, 103)).sum().backward()
                if not leave_inside:
                    handler.scope.__exit__()
            if weight.grad is None:
                raise ValueError("no gradient")
        gc.collect()

    def hostile():
        if PLANT:
            os.kill(os.getpid(), signal.SIGSEGV)
        try:
            train(leave_inside=True)
        except TypeError as error:
            # A freed hook's memory now holds another object, which is called in its place.
            os._exit(4 if "not callable" in str(error) else 3)

    if in_child(lambda: train(leave_inside=False)) != 0:
        return 125, "the workaround path fails too: leaving the context after backward fails"
    for _ in range(3):
        ended = in_child(hostile)
        if ended in (-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS):
            return 1, "leaving the context inside the hook killed the process: " + signal.Signals(-ended).name
        if ended == 4:
            return 1, "TypeError: another object was called in place of the freed hook"
        if ended != 0:
            return 125, "the child ended in an unexpected way: %d" % ended
    return 0, "three trainings ended well"


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
