"""What a re-check leaves behind: JSON for programs, Markdown for people, JUnit XML for test dashboards."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING, Any

import orjson

from torch_embers import folders
from torch_embers.builds.registry import environment_of, environment_text
from torch_embers.errors import InputError
from torch_embers.escaping import item_link
from torch_embers.escaping import markdown as escaped
from torch_embers.recheck.events import KINDS
from torch_embers.verdicts import matrix
from torch_embers.verdicts.status import CONFIRMED

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from torch_embers.recheck.recheck import Recheck, StatusChange

HEADINGS = {
    "regressed": "Came back",
    "closed_but_occurs": "Closed, but still there",
    "open_but_absent": "Open, but gone",
    "fixed": "Fixed",
    "flapping": "Changes back and forth",
    "flip": "The report's script behaves otherwise",
}
FOUND_BEFORE = "found by a re-check that ended before it could tell, on"
NOTHING_NEW, NEWS, LEFT_OUT = 0, 10, 12
"""Exit codes of `embers recheck`: nothing to tell; something came back, is still there, or is gone; nothing to tell,
and some build could not be used."""


def exit_code(result: Recheck) -> int:
    """Whether there is something to tell."""
    if result.news:
        return NEWS
    return LEFT_OUT if result.left_out else NOTHING_NEW


def left_out(result: Recheck) -> list[str]:
    """A line for each build that could not be used, and what that means for the statuses."""
    made = [f"build {build.name} was left out: {reason}" for build, reason in result.left_out]
    if result.reference.identity in {build.identity for build, _ in result.left_out}:
        made.append(f"no statuses: they would be those of {result.reference.name}, the newest build that was asked for")
    return made


def prepare(folder: Path) -> None:
    """Make the folder of a report and try to write there, before anything is announced.

    Drafts of a process that was killed while it wrote there are removed.

    Raises:
        InputError: it cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
        for draft in folder.glob(".recheck.*"):
            process = draft.suffix[1:]
            if process.isdecimal() and not folders.is_alive(int(process)):
                draft.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"--out {folder} cannot be written: {error.strerror}") from error


def save(folder: Path, result: Recheck, entries: Sequence[matrix.MatrixEntry]) -> None:
    """Write recheck.json, recheck.md and recheck.xml.

    Raises:
        InputError: a file cannot be written.
    """
    folders.write(folder / "recheck.json", orjson.dumps(as_table(result), option=orjson.OPT_INDENT_2))
    folders.write(folder / "recheck.md", markdown(result).encode())
    here = {cell.place for cell in result.cells if cell.build.identity == result.reference.identity}
    newest = [e for e in entries if e.identity == result.reference.identity and e.environment in here]
    flips = [(f"{c.repo}#{c.number}", c.title, "\n".join(c.evidence)) for c in result.news if c.kind == "flip"]
    folders.write(folder / "recheck.xml", matrix.as_junit(newest, "embers recheck", flips, result.made_at))


def as_table(result: Recheck) -> dict[str, Any]:
    """A re-check as plain data."""
    return {
        "made_at": result.made_at,
        "reference": result.reference.identity,
        "environment": _place(result),
        "counts": dict(sorted(result.counts.items())),
        "verdicts_reached": result.fresh,
        "false_absences_expected_at_most": result.false_expected,
        "without_control": {
            "verdicts": result.uncontrolled.verdicts,
            "cases": result.uncontrolled.cases,
            "releases": dict(result.uncontrolled.releases),
        },
        "kept": [
            {"issue": f"{repo}#{number}", "backend": backend, "status": kept.status, "reason": kept.reason}
            for (repo, number, backend), kept in result.kept.items()
        ],
        "dated_later_than_now": {"verdicts": result.ahead.verdicts, "statuses": result.ahead.statuses},
        "left_out": [{"build": build.identity, "name": build.name, "reason": why} for build, why in result.left_out],
        "changes": [
            {
                "issue": f"{c.repo}#{c.number}",
                "title": c.title,
                "backend": c.backend,
                "status": c.status,
                "previous": c.previous,
                "told": c.kind is not None,
                "kind": c.kind,
                "found_at": f"{c.found_at.isoformat()}Z" if c.found_at else None,
                "evidence": list(c.evidence),
                "scripts": [{"case": script.name} | script.row() for script in c.scripts],
            }
            for c in result.changes
        ],
    }


def markdown(result: Recheck) -> str:
    """A re-check as a page."""
    lines = [
        f"# Re-check against PyTorch {escaped(result.reference.version)}",
        "",
        f"{result.made_at}, {escaped(result.reference.identity)}, on {escaped(_place(result))}",
    ]
    for kind in KINDS:
        own = [change for change in result.news if change.kind == kind]
        if own:
            lines += ["", f"## {HEADINGS[kind]} ({len(own)})", ""]
            lines += [line for change in own for line in _entry(change)]
    if not result.news:
        lines += ["", f"{result.quiet.capitalize()}."]
    if any(change.kind in CONFIRMED for change in result.news):
        lines += ["", f"False claims of an absence to expect among these: at most {result.false_expected:.4f}."]
    hints = (result.undecided, result.uncontrolled, result.ahead)
    lines += [line for hint in hints if str(hint) for line in ("", f"{hint}.")]
    if result.left_out:
        lines += ["", *(f"- {escaped(line)}" for line in left_out(result))]
    lines += ["", f"Items: {result.items or 'none with a verdict'}."]
    return "\n".join(lines) + "\n"


def _place(result: Recheck) -> str:
    """Device, processor, CPU capability and system: another processor may give other verdicts."""
    return environment_text(environment_of(result.reference, 1))


def _entry(change: StatusChange) -> list[str]:
    was = f" (was {change.previous})" if change.previous else ""
    was += f", {FOUND_BEFORE} {change.found_at:%Y-%m-%d}" if change.found_at else ""
    head = f"- {item_link(change.repo, change.number)} on {change.backend}{was}: {escaped(change.title)}"
    lines = [head, *(f"  - {escaped(line)}" for line in change.evidence)]
    for script in change.scripts:
        lines += [f"  - {escaped(script.place)}", *(f"    {line}" for line in script.markdown().splitlines())]
    return lines
