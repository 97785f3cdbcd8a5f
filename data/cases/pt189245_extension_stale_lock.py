# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#189245"]
# relation = "same"
# bug_type = "thread_management"
# consequence = "hang"
# requires = ["cpu", "package:setuptools"]
# known_bad = [
#     "1.13.1", "2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0",
#     "2.11.0", "2.12.1", "2.13.0",
# ]
# fixed_in = "2.14.1"
# signature = "hang"
# oracle = "self"
# ///
"""Builds a C++ extension at run time in a directory where a killed build has left its lock file. The owner of the
lock is dead, so the build should go on. Instead every later build waits for the file to vanish. (The compilation
itself is replaced by a stub here.)"""

import os
import pathlib
import resource
import shutil
import signal
import sys
import tempfile
import time


def spoil(observed):
    """Return what the bug would give in place of what was observed, where EMBERS_PLANT=1 asks for it."""
    if os.environ.get("EMBERS_PLANT") == "1":
        signal.pause()
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


def stub(*_arguments, **_options):
    """Stand in for the compiler and for the import of what it made."""
    return "built"


def build(directory):
    """Run the run-time build of an extension up to, and without, the compiler."""
    from torch.utils import cpp_extension

    cpp_extension._write_ninja_file_and_build_library = stub
    cpp_extension._import_module_from_library = stub
    source = pathlib.Path(directory) / "source.cpp"
    source.write_text("int answer() { return 42; }")
    assert cpp_extension.load("embers_stale", [str(source)], build_directory=directory, verbose=False) == "built"


def build_beside_lock(directory):
    """Run the build in a directory with a lock file that nobody holds."""
    try:
        build(directory)
    finally:
        spoil(None)


def main():
    """Return (exit code, what was seen): 0 behaves right, 1 the declared bug is there, 125 cannot be tested here."""
    try:
        from torch.utils import cpp_extension
    except ImportError as error:
        return 125, "run-time extensions need setuptools: %s" % error
    if not hasattr(cpp_extension, "_write_ninja_file_and_build_library"):
        return 125, "this release builds extensions in another way"
    directory = tempfile.mkdtemp()
    try:
        started = time.monotonic()
        if in_child(lambda: build(directory)) != 0:
            return 125, "the workaround path fails too: without a lock file the build does not run either"
        patience = min(30.0, max(1.0, 10 * (time.monotonic() - started)))
        (pathlib.Path(directory) / "lock").touch()
        ended = in_child(lambda: build_beside_lock(directory), patience)
    finally:
        shutil.rmtree(directory)
    if ended == -signal.SIGALRM:
        return 1, "with a stale lock file the build waits (hang)"
    if ended != 0:
        return 125, "the child ended in an unexpected way: %d" % ended
    return 0, "a stale lock file does not stop the build"


if __name__ == "__main__":
    try:
        code, seen = main()
    except Exception as error:
        code, seen = 125, "cannot be tested here: %s: %s" % (type(error).__name__, error)
    print(seen)
    sys.exit(code)
