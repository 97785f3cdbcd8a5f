# /// script
# dependencies = ["torch"]
# [tool.embers]
# issues = ["pytorch/pytorch#189245"]
# bug_type = "thread_management"
# consequence = "hang"
# requires = ["cpu"]
# known_bad = []
# signature = "hang"
# oracle = "self"
# ///
"""Builds a C++ extension at run time in a directory where a killed build has left its lock file. The owner of the
lock is dead, so the build should go on. Instead every later build waits for the file to vanish. (The compilation
itself is replaced by a stub here.)"""

import os
import resource
import shutil
import signal
import sys
import tempfile

PLANT = os.environ.get("EMBERS_PLANT") == "1"


def in_child(action, seconds=5):
    """Run action in a forked child; return its exit code (0 done, 3 ended by an exception) or minus its signal."""
    pid = os.fork()
    if pid == 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for stream in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
        signal.alarm(seconds)
        try:
            action()
        except BaseException:
            os._exit(3)
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    return os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)


def build(directory):
    """Run the run-time build of an extension up to, and without, the compiler."""
    from torch.utils import cpp_extension

    cpp_extension._write_ninja_file_and_build_library = lambda *names, **options: None
    cpp_extension._import_module_from_library = lambda *names, **options: "module"
    source = os.path.join(directory, "source.cpp")
    with open(source, "w") as file:
        file.write("int answer() { return 42; }")
    assert cpp_extension.load("embers_stale", [source], build_directory=directory, verbose=False) == "module"


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
        if in_child(lambda: build(directory)) != 0:
            return 125, "the workaround path fails too: without a lock file the build does not run either"
        with open(os.path.join(directory, "lock"), "w"):
            pass
        ended = in_child((lambda: signal.pause()) if PLANT else (lambda: build(directory)))
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
