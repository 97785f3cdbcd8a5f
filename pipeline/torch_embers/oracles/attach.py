"""Run an unchanged script under oracles. Findings go to a file."""

from __future__ import annotations

import contextlib
import importlib
import sys
import traceback
import types
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Dict, Mapping, Sequence

if TYPE_CHECKING:
    from torch_embers.oracles.finding import Finding

ORACLES = {
    "layout": ("torch_embers.oracles.layout", "LayoutOracle"),
    "precision": ("torch_embers.oracles.precision", "PrecisionOracle"),
}
"""Oracles that can be attached: module and class."""


def make(name: str, rules: Mapping[str, Any], every: int, ops: Sequence[str]) -> Any:
    """An oracle by its name.

    Raises:
        ValueError: no such oracle.
    """
    if name not in ORACLES:
        raise ValueError("no oracle %r: use %s" % (name, " or ".join(ORACLES)))
    module, cls = ORACLES[name]
    kind = getattr(importlib.import_module(module), cls)
    if name == "layout":
        return kind(rules, every=every, ops=ops)
    return kind(ops=list(ops) or None, every=every)


def run(script: str, arguments: Sequence[str], options: Mapping[str, Any], report: Callable[[Finding], None]) -> int:
    """Run a script as ``__main__`` under oracles; its exit status, as ``python script`` would have it.

    Args:
        script: path of the file.
        arguments: for the script.
        options: ``rules``, ``oracles``, ``every``, ``ops``.
        report: is called with each finding after the script's end, however it ends.
    """
    oracles = [make(name, options["rules"], options["every"], options["ops"]) for name in options["oracles"]]
    main = types.ModuleType("__main__")
    main.__dict__.update({"__file__": script, "__builtins__": __builtins__})
    sys.modules["__main__"] = main
    sys.argv = [script, *arguments]
    sys.path.insert(0, str(Path(script).resolve().parent))
    code = compile(Path(script).read_bytes(), script, "exec", dont_inherit=True)
    status = 0
    try:
        with contextlib.ExitStack() as stack:
            for oracle in oracles:
                stack.enter_context(oracle)
            exec(code, main.__dict__)  # noqa: S102 - running the user's script is the purpose
    except SystemExit as stop:
        status = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except Exception:  # noqa: BLE001 - whatever the script raises ends it as it would without oracles
        traceback.print_exc()
        status = 1
    for oracle in oracles:
        for finding in oracle.findings:
            report(finding)
    return status


def main(options: Dict[str, Any]) -> None:
    """The entry of `embers sanitize`: findings go to a file, the exit status is the script's own."""
    found = Path(options["report"])

    def report(finding: Finding) -> None:
        with found.open("a", encoding="utf-8") as file:
            file.write(finding.dump() + "\n")

    sys.exit(run(options["script"], options["arguments"], options, report))
