# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#88443"]
# relation = "same"
# bug_type = "logical"
# consequence = "hang"
# requires = ["cpu"]
# known_bad = ["1.13.1", "2.0.1", "2.1.2"]
# fixed_in = "2.2.2"
# signature = "hang"
# oracle = "self"
# ///
"""Draws from a von Mises distribution that is almost uniform (a concentration of 1e-5). A draw takes microseconds.
In older releases a constant of the rejection sampling rounds to zero or NaN in single precision, no proposal is
accepted, and the loop never ends."""

import os
import resource
import signal
import sys
import time


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        time.sleep(60)
    return observed


def in_child(action, seconds=5.0):
    """Run action in a forked child; return its exit code (0 done, 3 ended by an exception) or minus its signal."""
    pid = os.fork()
    if pid == 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for stream in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
        signal.setitimer(signal.ITIMER_REAL, seconds)
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

    torch.set_num_threads(1)

    def draw(concentration):
        found = torch.distributions.VonMises(torch.tensor(0.0), torch.tensor(concentration)).sample((10,))
        assert found.abs().max().item() <= 3.1415928

    def almost_uniform():
        try:
            draw(1e-5)
        finally:
            spoil(None)

    started = time.monotonic()
    if in_child(lambda: draw(1.0)) != 0:
        return 125, "the workaround path fails too: a concentration of one cannot be drawn from"
    patience = min(30.0, max(1.0, 10 * (time.monotonic() - started)))
    ended = in_child(almost_uniform, patience)
    if ended == -signal.SIGALRM:
        return 1, "a concentration of 1e-5: no ten draws in ten times what a concentration of one takes (hang)"
    if ended != 0:
        return 125, "the child ended in an unexpected way: %d" % ended
    return 0, "a concentration of 1e-5: ten draws at once"


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
