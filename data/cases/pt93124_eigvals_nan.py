# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#93124", "pytorch/pytorch#121149", "pytorch/pytorch#64671"]
# relation."pytorch/pytorch#93124" = "same"
# relation."pytorch/pytorch#121149" = "sibling"
# relation."pytorch/pytorch#64671" = "sibling"
# bug_type = "memory"
# memory_type = "segment_fault"
# memory_subtype = "programming"
# consequence = "crash"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = ["SIGSEGV", "SIGABRT", "SIGBUS"]
# oracle = "self"
# ///
"""Asks for the eigenvalues of a matrix of NaN. Either NaN or an exception would do. Instead the matrix goes to the
LAPACK of MKL, whose routines refuse their arguments, and what follows works with a size that was never set."""

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
    return isinstance(error, RuntimeError) and any(
        words in str(error) for words in ("infs or NaNs", "failed to converge")
    )


def in_child(action, seconds=20):
    """Run action in a forked child; return 0 (done), 3 (refused), 6 (another exception) or minus its signal."""
    pid = os.fork()
    if pid == 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for stream in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
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
        found = sorted(torch.linalg.eigvals(torch.diag(torch.tensor([2.0, 1.0, 3.0]))).real.tolist())
        assert [round(value, 4) for value in found] == [1.0, 2.0, 3.0]

    def invalid():
        try:
            for size in list(range(2, 10)) * 10:
                try:
                    torch.linalg.eigvals(torch.full((size, size), float("nan")))
                except RuntimeError as error:
                    if not is_refusal(error):
                        raise
        finally:
            spoil(None)

    if in_child(valid) != 0:
        return 125, "the workaround path fails too: a valid call does not give the known values"
    ended = in_child(invalid)
    if ended in (-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS):
        return 1, "eigenvalues of NaN: the process died of %s" % signal.Signals(-ended).name
    if ended not in (0, 3):
        return 125, "the child ended in an unexpected way: %d" % ended
    return 0, "eigenvalues of NaN: " + ("refused by an exception" if ended == 3 else "returned normally")


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
