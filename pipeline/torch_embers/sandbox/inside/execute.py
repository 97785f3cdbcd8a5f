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

from . import kernel

if TYPE_CHECKING:
    from typing import Any

INTERRUPTED = 130
"""Stands for an end by KeyboardInterrupt on the way out."""


REGISTRY = "_registry"
"""Where ``weakref.finalize`` keeps its objects, since Python 3.4."""


class Finalizers:
    """The ``weakref.finalize`` objects of preloaded modules: they do not run at the exit of a run.

    They take torch's own libraries apart, which costs more than a short script and says nothing about it. Even to pass
    over them costs 160 copied pages, so at the exit only those that the script made are looked at.
    """

    def __init__(self) -> None:
        self.found: list[Any] = []
        self.kept: dict[Any, Any] = {}
        self.known: frozenset[int] = frozenset()

    def take_over(self) -> None:
        """Stop those that are there now."""
        registry = self.registry()
        found = [finalizer for finalizer in registry if finalizer.atexit]
        for finalizer in found:
            finalizer.atexit = False
        self.found += found
        self.known = frozenset(map(id, registry))

    def give_back(self) -> None:
        """Let them run after all."""
        for finalizer in self.found:
            finalizer.atexit = True

    def pass_over(self) -> None:
        """Leave the registry with what was made since: the newest come last in it."""
        self.kept = self.registry()  # to let go of it would take all of them apart
        new = []
        for finalizer in reversed(self.kept):
            if id(finalizer) in self.known:
                break
            new.append((finalizer, self.kept[finalizer]))
        if self.known:
            setattr(weakref.finalize, REGISTRY, dict(reversed(new)))

    @staticmethod
    def registry() -> dict[Any, Any]:
        """All finalizers, the newest last."""
        return getattr(weakref.finalize, REGISTRY, {})


def execute(script: str, request: dict[str, Any], finalizers: Finalizers) -> int:
    """Run the script as ``__main__``; its exit status, where the interpreter is to be taken apart afterwards."""
    if request["finalise"]:
        finalizers.give_back()
    main = types.ModuleType("__main__")
    main.__dict__.update({"__file__": script, "__builtins__": builtins, "__cached__": None})
    sys.modules["__main__"] = main
    sys.argv = [script, *request["arguments"]]
    sys.path.insert(0, str(Path(script).parent))
    status = 0
    try:
        exec(compile(kernel.read_file(script), script, "exec", dont_inherit=True), main.__dict__)
    except SystemExit as error:
        status = exit_status(error.code)
    except BaseException as error:
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
            trace = trace.tb_next
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        status = INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1
    return status if request["finalise"] and status != INTERRUPTED else leave(status, finalizers)


def exit_status(code: object) -> int:
    """What ``sys.exit(code)`` means to the parent process."""
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    sys.stderr.write(f"{code}\n")
    return 1


def leave(status: int, finalizers: Finalizers) -> int:
    """End as Python does (threads, exit functions, flush) but without taking the interpreter apart."""
    try:
        getattr(threading, "_shutdown", int)()
        finalizers.pass_over()
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
