"""Run an unchanged script under oracles. Findings go to a file or to standard output beside the script's own."""

from __future__ import annotations

import contextlib
import importlib
import sys
import traceback
import types
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Sequence, Tuple

if TYPE_CHECKING:
    from torch_embers.oracles.finding import Finding

ORACLES = {
    "layout": ("torch_embers.oracles.layout", "LayoutOracle"),
    "precision": ("torch_embers.oracles.precision", "PrecisionOracle"),
}
"""Oracles that can be attached: module and class."""
FOUND, CANNOT = 1, 125
"""Exit codes of a script that is run for a verdict: a finding; it could not be tested."""


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


def verdict(options: Dict[str, Any]) -> None:
    """The entry of a sandboxed run: exit 1 with a finding on the last line, 0 without one, 125 if it failed."""
    found: List[Finding] = []
    status = run(options["script"], options["arguments"], options, found.append)
    for finding in found:
        print(finding.dump())  # noqa: T201 - the only way out of the sandbox
    if found:
        print(_sentence(found[0]))  # noqa: T201
        sys.exit(FOUND)
    print("no finding" if not status else "the script itself failed")  # noqa: T201
    sys.exit(CANNOT if status else 0)


def _sentence(finding: Finding) -> str:
    worst: Tuple[str, ...] = ()
    if finding.difference is not None:
        worst = ("got %s, expected %s" % (finding.difference.got, finding.difference.expected),)
    return "; ".join(("%s at %s" % (finding.message, finding.line), *worst))
