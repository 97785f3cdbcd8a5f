"""Run a user's own script under oracles, with his interpreter and his rights, and collect what they find."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch_embers import resources, sarif_output
from torch_embers.errors import InputError
from torch_embers.oracles import attach, finding
from torch_embers.sandbox import bundle

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch_embers.oracles.finding import Finding

FOUND = 10
"""Exit code of the command when an oracle has found something."""
LEVELS: dict[str, sarif_output.Level] = {"broken_promise": "warning", "refusal": "note"}
"""SARIF's level by severity; the others are errors."""
ELSEWHERE = {
    "compiled": "it compares a function with its compiled form: `embers.CompiledOracle().check(function, *inputs)`",
    "device": "it compares a function on two devices: `embers.DeviceOracle().check(function, *inputs)`",
    "timing": "it compares two builds: `embers research perf SCRIPT --build A --build B`",
}
"""Oracles that no single run of a script can be put under, and what to use."""


@dataclass(frozen=True, slots=True)
class Sanitized:
    """What came of a script.

    Attributes:
        status: exit status of the script itself; negative for a signal.
        findings: what the oracles found, in order.
        looked: by oracle, ``compared`` calls, and ``refused`` ones as (operator, reason, how many); empty where the
            process was ended.
    """

    status: int
    findings: Sequence[Finding]
    looked: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def exit_code(self) -> int:
        """Of the command: 10 with findings, else the script's own."""
        return FOUND if self.findings else self.status if self.status >= 0 else 128 - self.status


def oracles_of(text: str) -> list[str]:
    """The oracles of an option, names separated by commas.

    Raises:
        InputError: there is no such oracle, or it looks at something else than a run.
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names or [text]:
        if name in ELSEWHERE:
            raise InputError(f"a script cannot be run under the oracle {name!r}: {ELSEWHERE[name]}")
        if name not in attach.ORACLES:
            raise InputError(f"no oracle {name!r}: use {' or '.join(attach.ORACLES)}")
    return list(dict.fromkeys(names))


def sanitize(
    script: Path,
    arguments: Sequence[str] = (),
    *,
    python: Path | None = None,
    oracles: str = "layout",
    every: int = 1,
    ops: Sequence[str] = (),
) -> Sanitized:
    """Run a script under oracles; its output goes where it always goes.

    Args:
        script: a Python file.
        arguments: for it.
        python: an interpreter with torch; this one where none is given.
        oracles: names of oracles, separated by commas.
        every: look at one call in so many.
        ops: look at these operators alone.

    Raises:
        InputError: no such file, no such oracle, or no torch.
    """
    if not script.is_file():
        raise InputError(f"no script {script}: give the path of a Python file")
    names = oracles_of(oracles)
    with tempfile.TemporaryDirectory(prefix="embers-sanitize-") as folder:
        report = Path(folder) / "findings"
        options = {
            "script": str(script),
            "arguments": list(arguments),
            "report": str(report),
            "rules": resources.load_toml("oracles.toml"),
            "oracles": names,
            "every": every,
            "ops": list(ops),
        }
        launcher = Path(folder) / "sanitize.py"
        launcher.write_text(bundle.script("attach", "main", options), encoding="utf-8")
        status = _run([str(python or sys.executable), str(launcher)])
        text = report.read_text(encoding="utf-8", errors="replace") if report.is_file() else ""
    if text.startswith(attach.NO_TORCH):
        raise InputError(
            f"{python or sys.executable} cannot import torch ({text.removeprefix(attach.NO_TORCH)}): install it there "
            "(pip install torch), or give --python an interpreter with torch; the script was not started"
        )
    return Sanitized(status, list(dict.fromkeys(finding.read(text))), attach.looked(text))


def _run(command: Sequence[str]) -> int:
    """Run a program to its end; Ctrl-C reaches it too, and what it found until then is not lost.

    Raises:
        InputError: it cannot be started.
        KeyboardInterrupt: at the second Ctrl-C; the program is ended.
    """
    try:
        with subprocess.Popen(command) as program:
            try:
                return program.wait()
            except KeyboardInterrupt:
                return program.wait()
            finally:
                if program.poll() is None:
                    program.kill()
    except OSError as error:
        raise InputError(
            f"cannot start {command[0]}: {error.strerror}; give --python an interpreter with torch"
        ) from error


def check_places(sarif_file: Path | None, cases: Path | None) -> None:
    """Whether findings can be written where they are wanted, asked before a script that runs for hours.

    Raises:
        InputError: the folder of the SARIF file is missing, or the place for cases is a file.
    """
    if sarif_file is not None and (sarif_file.is_dir() or not sarif_file.absolute().parent.is_dir()):
        raise InputError(f"cannot write {sarif_file}: give --sarif a file in a folder that is there")
    if cases is not None and cases.exists() and not cases.is_dir():
        raise InputError(f"{cases} is a file: give --cases a folder")


def summary(done: Sanitized) -> str:
    """How many findings in how many calls; a process that was ended in the middle could not say the second."""
    compared = sum(part["compared"] for part in done.looked.values())
    calls = f"{compared} compared calls" if done.looked else "the calls until the process was ended"
    found = f"{len(done.findings)} finding{'s' * (len(done.findings) != 1)}"
    return f"{found} in {calls}, the script ended with {done.status}"


def undecided(looked: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """A line for each operator whose calls could not be decided, with the reason."""
    return [
        f"{oracle} could not decide {count} calls of {op}: {why}"
        for oracle, part in looked.items()
        for op, why, count in part["refused"]
    ]


def sarif(findings: Sequence[Finding]) -> dict[str, Any]:
    """Findings in SARIF 2.1.0, which code hosts and editors show at their lines."""
    return sarif_output.document("embers sanitize", [_result(one) for one in findings])


def _result(found: Finding) -> dict[str, Any]:
    name, _, line = found.line.rpartition(":")
    return sarif_output.result(
        rule=f"{found.oracle}/{found.severity}",
        level=LEVELS.get(found.severity, "error"),
        text=found.message,
        place=(Path(name), int(line)) if name else None,
    )


def save(done: Sanitized, sarif_file: Path | None, cases: Path | None) -> list[Path]:
    """Write findings as SARIF and their case files; the paths of the cases."""
    if sarif_file is not None:
        sarif_file.write_text(json.dumps(sarif(done.findings), indent=2), encoding="utf-8")
    written = []
    for number, found in enumerate(done.findings, 1):
        if cases is not None and found.reproducer:
            cases.mkdir(parents=True, exist_ok=True)
            path = cases / f"{found.op.replace('.', '_')}_{number}.py"
            path.write_text(found.reproducer, encoding="utf-8")
            written.append(path)
    return written
