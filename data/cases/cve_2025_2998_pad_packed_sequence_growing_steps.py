# /// script
# dependencies = ["torch"]
# [tool.embers]
# kind = "advisory"
# issues = ["pytorch/pytorch#149622", "pytorch/pytorch#169213"]
# relation = "sibling"
# bug_type = "memory"
# memory_type = "segment_fault"
# memory_subtype = "programming"
# consequence = "crash"
# requires = ["cpu"]
# known_bad = [
#     "1.13.0", "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.0", "2.7.1", "2.8.0",
#     "2.9.0", "2.9.1", "2.10.0", "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = ["SIGABRT", "SIGSEGV", "SIGBUS"]
# oracle = "self"
# ///
"""Pads a packed sequence that was made by hand, whose batch sizes first fall and then grow. They should be refused.
Instead lengths are written for sequences that have ended already, beyond the list of lengths."""

import os
import resource
import signal
import sys


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        os.kill(os.getpid(), signal.SIGABRT)
    return observed


def is_refusal(error):
    """True where error is the refusal that is due here, by its type and its words."""
    return isinstance(error, (RuntimeError, ValueError, IndexError, TypeError)) and any(
        words in str(error) for words in ("batch_sizes", "decreas")
    )


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

    from torch.nn.utils.rnn import PackedSequence, pad_packed_sequence

    def valid():
        packed = PackedSequence(torch.arange(4.0).reshape(4, 1), torch.tensor([3, 1]))
        padded, lengths = pad_packed_sequence(packed)
        assert lengths.tolist() == [2, 1, 1] and padded.flatten().tolist() == [0.0, 1.0, 2.0, 3.0, 0.0, 0.0]

    def invalid():
        # Within the allocated rows of the first step, but the second step says that sequences have ended.
        packed = PackedSequence(torch.ones(7, 3), torch.tensor([3, 1, 3]))
        try:
            pad_packed_sequence(packed)
        finally:
            spoil(None)

    if in_child(valid) != 0:
        return 125, "the workaround path fails too: a valid call does not give the known values"
    ended = in_child(invalid)
    if ended in (-signal.SIGABRT, -signal.SIGSEGV, -signal.SIGBUS):
        return 1, "padding of a packed sequence whose steps grow, the process died of %s" % signal.Signals(-ended).name
    if ended not in (0, 3):
        return 125, "the child ended in an unexpected way: %d" % ended
    return 0, "padding of a packed sequence whose steps grow: " + (
        "refused by an exception" if ended == 3 else "returned normally"
    )


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
