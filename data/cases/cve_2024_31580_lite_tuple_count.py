# /// script
# dependencies = ["torch"]
# [tool.embers]
# kind = "advisory"
# issues = []
# bug_type = "memory"
# memory_type = "segment_fault"
# memory_subtype = "programming"
# consequence = "crash"
# requires = ["cpu"]
# known_bad = ["1.13.0", "1.13.1", "2.0.1", "2.1.2"]
# fixed_in = "2.2.2"
# signature = "mismatch"
# oracle = "self"
# ///
"""Saves a small module for the lite interpreter, lets its instruction that makes a tuple of two values make one of a
million, and runs it. The instruction should be refused. Instead the interpreter reads far below its stack and the
process dies. It happens in a child process."""

import io
import os
import pickle
import resource
import signal
import sys
import zipfile

MAKES_TUPLE = "TUPLE_CONSTRUCT"


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        os.kill(os.getpid(), signal.SIGSEGV)
    return observed


def is_refusal(error):
    """True where error is the refusal that is due here, by its type and its words."""
    return isinstance(error, RuntimeError) and "Invalid number of inputs" in str(error)


def saved_pair():
    """The bytes of a module that returns its two arguments."""
    import torch

    class Pair(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor):
            return (x, y)

    return torch.jit.script(Pair())._save_to_buffer_for_lite_interpreter()


def with_tuple_of(whole, count):
    """The archive with another number of values in the instruction that makes a tuple."""
    changed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(whole)) as source, zipfile.ZipFile(changed, "w", zipfile.ZIP_STORED) as target:
        for name in source.namelist():
            content = source.read(name)
            if name.endswith("bytecode.pkl"):
                version, method = pickle.loads(content)
                content = pickle.dumps((version, edited(method, count)), protocol=2)
            target.writestr(name, content)
    changed.seek(0)
    return changed


def edited(method, count):
    """A method of the bytecode, as nested tuples, with that number."""
    parts = []
    for key, value in method[1]:
        if key == "instructions":
            value = tuple((one[0], count, one[2]) if one[0] == MAKES_TUPLE else one for one in value)
        parts.append((key, value))
    return (method[0], tuple(parts), *method[2:])


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
    from torch.jit.mobile import _load_for_lite_interpreter

    one, whole = torch.ones(1), saved_pair()
    if [part.item() for part in _load_for_lite_interpreter(with_tuple_of(whole, 2))(one, one)] != [1, 1]:
        return 125, "the workaround path fails too: the tuple of two is another one"

    def invalid():
        try:
            _load_for_lite_interpreter(with_tuple_of(whole, 1 << 20))(one, one)
        finally:
            spoil(None)

    ended = in_child(invalid)
    if ended in (-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS):
        return 1, "a tuple of a million values from two: the process died of %s" % signal.Signals(-ended).name
    if ended not in (0, 3):
        return 125, "the child ended in an unexpected way: %d" % ended
    return 0, "a tuple of a million values from two: " + ("refused" if ended == 3 else "made without harm")


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
