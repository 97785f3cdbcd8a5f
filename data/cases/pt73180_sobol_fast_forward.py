# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#73180"]
# relation = "same"
# bug_type = "memory"
# memory_type = "segment_fault"
# memory_subtype = "programming"
# consequence = "crash"
# requires = ["cpu"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0",
# ]
# fixed_in = "2.14.1"
# signature = ["SIGSEGV", "SIGABRT", "SIGBUS"]
# oracle = "self"
# ///
"""Fast-forwards a Sobol point of three coordinates and states a dimension of 2**40. The kernel should compare the
dimension with the point. Instead it steps over as many coordinates as stated and reads and writes foreign memory."""

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
    return isinstance(error, (RuntimeError, ValueError, IndexError)) and "dimension" in str(error)


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
        state = torch.zeros(3, 30, dtype=torch.int64)
        torch._sobol_engine_initialize_state_(state, 3)
        point = torch.zeros(3, dtype=torch.int64)
        torch._sobol_engine_ff_(point, 1, state, 3, 0)
        assert point.tolist() == state[:, 0].tolist()

    def invalid():
        try:
            torch._sobol_engine_ff_(
                torch.zeros(3, dtype=torch.int64), 1, torch.ones(3, 30, dtype=torch.int64), 1 << 40, 0
            )
        finally:
            spoil(None)

    if in_child(valid) != 0:
        return 125, "the workaround path fails too: a valid call does not give the known values"
    ended = in_child(invalid)
    if ended in (-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS):
        return 1, "dimension 2**40 for a point of three coordinates, the process died of %s" % signal.Signals(
            -ended
        ).name
    if ended not in (0, 3):
        return 125, "the child ended in an unexpected way: %d" % ended
    return 0, "dimension 2**40 for a point of three coordinates: " + (
        "refused by an exception" if ended == 3 else "returned normally"
    )


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
