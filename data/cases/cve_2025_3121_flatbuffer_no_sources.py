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
# known_bad = [
#     "1.13.0", "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.0", "2.7.1", "2.8.0",
#     "2.9.0", "2.9.1", "2.10.0", "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0",
# ]
# signature = "mismatch"
# oracle = "self"
# ///
"""Saves a small scripted module as a flatbuffer, takes the sources of its code out of the table of the file, and loads
it. The file should be refused. Instead the loader follows a null pointer and the process dies. It happens in a child
process."""

import os
import resource
import signal
import struct
import sys
import tempfile

SOURCES_FIELD = 8  # jit_sources of the table Module


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        os.kill(os.getpid(), signal.SIGSEGV)
    return observed


def is_refusal(error):
    """True where error is the refusal of a damaged file, by its type and its words."""
    return isinstance(error, RuntimeError) and "flatbuffer" in str(error).lower()


def saved_module(path):
    """Write a module as a flatbuffer and return its bytes."""
    import torch
    from torch.jit._serialization import save_jit_module_to_flatbuffer

    class AddOne(torch.nn.Module):
        def forward(self, x: torch.Tensor):
            return x + 1

    save_jit_module_to_flatbuffer(torch.jit.script(AddOne()), path)
    with open(path, "rb") as stream:
        return bytearray(stream.read())


def field_offset(content, field):
    """Where the table of offsets holds the offset of a field of the root table; zero there leaves the field out."""
    root = struct.unpack_from("<I", content, 0)[0]
    return root - struct.unpack_from("<i", content, root)[0] + 4 + 2 * field


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

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "module.ff")
        content = saved_module(path)
        if torch.jit.jit_module_from_flatbuffer(path)(torch.ones(1)).item() != 2:
            return 125, "the workaround path fails too: the unchanged file gives another module"
        struct.pack_into("<H", content, field_offset(content, SOURCES_FIELD), 0)
        with open(path, "wb") as stream:
            stream.write(content)

        def invalid():
            try:
                torch.jit.jit_module_from_flatbuffer(path)
            finally:
                spoil(None)

        ended = in_child(invalid)
    if ended in (-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS):
        return 1, "a file without sources: the process died of %s" % signal.Signals(-ended).name
    if ended not in (0, 3):
        return 125, "the child ended in an unexpected way: %d" % ended
    return 0, "a file without sources: " + ("refused" if ended == 3 else "loaded without harm")


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0])
    print(seen)
    sys.exit(code)
