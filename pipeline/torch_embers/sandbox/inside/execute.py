"""Run a script as ``python script`` would, in a process that has imported torch already."""

# ruff: noqa: BLE001, S102 - running foreign code, whatever it raises, is the purpose

from __future__ import annotations

import atexit
import builtins
import os
import signal
import sys
import threading
import types
import weakref
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

INTERRUPTED = 130
"""Stands for an end by KeyboardInterrupt on the way out."""


def take_over_finalizers() -> list[Any]:
    """Stop the preloaded modules' ``weakref.finalize`` objects from running at exit, and return them.

    They take torch's own libraries apart, which costs more than a short script and says nothing about it.
    """
    registry = getattr(weakref.finalize, "_registry", {})
    found = [finalizer for finalizer in registry if finalizer.atexit]
    for finalizer in found:
        finalizer.atexit = False
    return found


def execute(script: str, request: dict[str, Any], finalizers: list[Any]) -> int:
    """Run the script as ``__main__``; its exit status, where the interpreter is to be taken apart afterwards."""
    if request["finalise"]:
        for finalizer in finalizers:
            finalizer.atexit = True
    main = types.ModuleType("__main__")
    main.__dict__.update({"__file__": script, "__builtins__": builtins, "__cached__": None})
    sys.modules["__main__"] = main
    sys.argv = [script, *request["arguments"]]
    sys.path.insert(0, str(Path(script).parent))
    status = 0
    try:
        exec(compile(Path(script).read_bytes(), script, "exec", dont_inherit=True), main.__dict__)
    except SystemExit as error:
        status = exit_status(error.code)
    except BaseException as error:
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
            trace = trace.tb_next
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        status = INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1
    return status if request["finalise"] and status != INTERRUPTED else leave(status)


def exit_status(code: object) -> int:
    """What ``sys.exit(code)`` means to the parent process."""
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    sys.stderr.write(f"{code}\n")
    return 1


def leave(status: int) -> int:
    """End as Python does (threads, exit functions, flush) but without taking the interpreter apart."""
    try:
        getattr(threading, "_shutdown", int)()
        getattr(atexit, "_run_exitfuncs", int)()
    except BaseException:
        sys.excepthook(*sys.exc_info())
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None and not stream.closed:
                stream.flush()
        except Exception:
            status = status or 120  # as the interpreter has it
    if status == INTERRUPTED:  # the interpreter dies of the signal itself, for the sake of shells
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    os._exit(status)
