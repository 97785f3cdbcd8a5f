# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#89677", "pytorch/pytorch#90358"]
# relation."pytorch/pytorch#89677" = "sibling"
# relation."pytorch/pytorch#90358" = "same"
# bug_type = "memory"
# memory_type = "indexing"
# memory_subtype = "invalid_memory_access"
# consequence = "crash"
# requires = ["cpu"]
# known_bad = ["1.13.1"]
# fixed_in = "2.0.1"
# signature = ["SIGSEGV", "SIGABRT", "SIGBUS"]
# oracle = "self"
# ///
"""Sums bags of embeddings in double precision where the last offset lies before the end of the indices. The indices
behind it belong to no bag. Instead they are added to a bag that the output does not have, behind its memory, and the
heap breaks."""

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
    return isinstance(error, (RuntimeError, ValueError, IndexError)) and "offset" in str(error)


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

    weight = torch.ones(5, 64, dtype=torch.float64)
    bag = torch.nn.functional.embedding_bag

    def valid():
        got = bag(torch.arange(5), weight, torch.tensor([0, 2, 5]), mode="sum", include_last_offset=True)
        assert got[:, 0].tolist() == [2.0, 3.0]

    def invalid():
        try:
            for _ in range(50):
                bag(torch.arange(5).repeat(400), weight, torch.tensor([0, 2, 3]), mode="sum", include_last_offset=True)
        finally:
            spoil(None)

    if in_child(valid) != 0:
        return 125, "the workaround path fails too: complete offsets do not give the known sums"
    ended = in_child(invalid)
    if ended in (-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS):
        return 1, "indices behind the last offset: the process died of %s" % signal.Signals(-ended).name
    if ended in (0, 3):
        return 0, "the call was refused" if ended == 3 else "the call returns"
    return 125, "another failure: the child ended with %d" % ended


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
