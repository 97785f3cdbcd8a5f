"""Run an unchanged script under oracles. Findings go to a file, or, in the sandbox, to standard output."""

from __future__ import annotations

import builtins
import contextlib
import faulthandler
import importlib
import importlib.machinery
import json
import linecache
import os
import sys
import tempfile
import types
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Sequence

if TYPE_CHECKING:
    from torch_embers.oracles.finding import Finding

ORACLES = {
    "layout": ("torch_embers.oracles.layout", "LayoutOracle"),
    "precision": ("torch_embers.oracles.precision", "PrecisionOracle"),
}
"""Oracles that can be attached: module and class."""
INTERRUPTED = 130
"""Exit status of a script that Ctrl-C ends, as shells have it."""
NO_TORCH = "embers-no-torch "
"""What the only line of a report begins with where torch cannot be imported; the reason follows."""
LOOKED = "embers-looked "
"""What a line on standard output begins with that says what was looked at."""


def make(name: str, rules: Mapping[str, Any], every: int, ops: Sequence[str], found: Callable[[Finding], None]) -> Any:
    """An oracle by its name.

    Args:
        name: a key of ``ORACLES``.
        rules: the parsed data/oracles.toml.
        every: look at one call in so many.
        ops: look at these operators alone; at all where none is given.
        found: is called with each finding at once.

    Raises:
        ValueError: no such oracle.
    """
    if name not in ORACLES:
        raise ValueError("no oracle %r: use %s" % (name, " or ".join(ORACLES)))
    module, cls = ORACLES[name]
    kind = getattr(importlib.import_module(module), cls)
    if name == "layout":
        return kind(rules, every=every, ops=ops, on_finding=found)
    return kind(ops=list(ops) or None, every=every, on_finding=found)


def run(script: str, arguments: Sequence[str], options: Mapping[str, Any], say: Callable[[str], None]) -> int:
    """Run a script as ``__main__`` under oracles; its exit status, as ``python script`` would have it.

    Args:
        script: path of the file.
        arguments: for the script.
        options: ``rules``, ``oracles``, ``every``, ``ops``; ``shown`` where findings show another name than the path.
        say: is called with a line for each finding as it is made, so that a crash loses none, and with a last one that
            says what was looked at.
    """

    def found(finding: Finding) -> None:
        say(finding.dump())

    made = {name: make(name, options["rules"], options["every"], options["ops"], found) for name in options["oracles"]}
    main = _as_main(script)
    sys.argv = [script, *arguments]
    status = 0
    process = os.getpid()
    try:
        with contextlib.ExitStack() as stack:
            code = _compiled(script, options.get("shown", script))
            for oracle in made.values():
                stack.enter_context(oracle)
            importlib.import_module("torch").empty(0)  # torch imports a part at the first call under a mode: do it here
            _hide()
            exec(code, main.__dict__)  # noqa: S102 - running the user's script is the purpose
    except SystemExit as stop:
        status = _status(stop)
    except BaseException as error:  # noqa: BLE001 - whatever the script raises ends it as it would without oracles
        trace = (
            error.__traceback__.tb_next if error.__traceback__ is not None else None
        )  # without the frame of this file
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        status = INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1
    finally:
        if os.getpid() == process:  # a forked child that ends here has seen a part alone
            say(LOOKED + json.dumps({name: oracle.looked() for name, oracle in made.items()}))
    return status


def _compiled(script: str, shown: str) -> types.CodeType:
    """The code of a file; its lines are kept under the name that findings show, where another file may lie."""
    source = Path(script).read_bytes()
    lines = source.decode("utf-8", "replace").splitlines(keepends=True)
    linecache.cache[shown] = (len(source), None, lines, shown)
    return compile(source, shown, "exec", dont_inherit=True)


def _as_main(script: str) -> types.ModuleType:
    """The module that ``python script`` makes of a file, with the file's folder first in the path."""
    main = types.ModuleType("__main__")
    loader = importlib.machinery.SourceFileLoader("__main__", script)
    main.__dict__.update(__file__=script, __builtins__=builtins, __loader__=loader, __cached__=None, __annotations__={})
    sys.modules["__main__"] = main
    sys.path.insert(0, str(Path(script).resolve().parent))
    return main


def _hide() -> None:
    """Let a script that imports embers find the installed one, not these modules that were handed over."""
    if not any(getattr(finder, "carries_embers", False) for finder in sys.meta_path):
        return
    sys.meta_path[:] = [finder for finder in sys.meta_path if not getattr(finder, "carries_embers", False)]
    for name in [name for name in sys.modules if name.partition(".")[0] == __name__.partition(".")[0]]:
        del sys.modules[name]


def _status(stop: SystemExit) -> int:
    """The exit status that Python gives; a text goes to standard error."""
    if stop.code is None or isinstance(stop.code, int):
        return int(stop.code or 0)
    print(stop.code, file=sys.stderr)  # noqa: T201 - as Python does
    return 1


def looked(text: str) -> Dict[str, Dict[str, Any]]:
    """What the oracles say that they looked at, by oracle, from an output; empty where the script did not end."""
    for line in reversed(text.splitlines()):
        if line.startswith(LOOKED):
            try:
                told = json.loads(line[len(LOOKED) :])
                return {str(name): _tally(part) for name, part in told.items()}
            except (AttributeError, KeyError, TypeError, ValueError):  # the script could have written the line itself
                return {}
    return {}


def _tally(part: Dict[str, Any]) -> Dict[str, Any]:
    refused: List[List[Any]] = [[str(op), str(why), int(count)] for op, why, count in part["refused"]]
    return {"compared": int(part["compared"]), "refused": refused}


def main(options: Dict[str, Any]) -> None:
    """The entry of `embers sanitize`: findings go to a file, the exit status is the script's own."""
    report = Path(options["report"])
    try:
        importlib.import_module("torch")
    except (ImportError, OSError) as error:  # OSError: a library of it is missing
        report.write_text(NO_TORCH + " ".join(str(error).split()), encoding="utf-8")
        sys.exit(1)
    lost: List[str] = []

    def say(line: str) -> None:
        try:
            with report.open("a", encoding="utf-8") as file:
                file.write(line + "\n")
        except OSError as error:  # a full disk must not end a training
            if not lost:
                print("embers: findings cannot be kept: %s" % error, file=sys.stderr)  # noqa: T201
            lost.append(line)

    sys.exit(run(options["script"], options["arguments"], options, say))


def sandboxed(options: Dict[str, Any]) -> None:
    """The entry of `embers run --oracle`: the script comes as text, findings go to standard output."""
    folder = Path(tempfile.mkdtemp())
    script = folder / options["shown"]
    script.write_bytes(options["code"].encode("utf-8", "surrogatepass"))
    faulthandler.enable()
    output = os.dup(1)

    def say(line: str) -> None:
        with contextlib.suppress(AttributeError, OSError, ValueError):  # the script may have closed or replaced it
            sys.stdout.flush()  # what it printed before stands before
        with os.fdopen(output, "w", encoding="utf-8", closefd=False) as file:
            file.write("\n" + line + "\n")

    sys.exit(run(str(script), (), options, say))
