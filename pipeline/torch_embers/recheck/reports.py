"""What a re-check leaves behind: JSON for programs, Markdown for people, JUnit XML for test dashboards."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING, Any, Literal

import orjson

from torch_embers import folders
from torch_embers.builds.registry import environment_of, environment_text
from torch_embers.errors import InputError
from torch_embers.templates import render
from torch_embers.verdicts import matrix

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from torch_embers.recheck.recheck import Recheck, StatusChange

HEADINGS = {
    "regressed": "Came back",
    "fixed": "Fixed",
    "closed_but_occurs": "Closed, but still there",
    "open_but_absent": "Open, but gone",
    "flapping": "Changes back and forth",
    "flip": "The report's script behaves otherwise",
}
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
    folders.write(folder / "recheck.md", page(result, "md").encode())
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


def page(result: Recheck, form: Literal["md", "txt"]) -> str:
    """A re-check as a page of Markdown, or for ``console.print_page``."""
    return render(
        "recheck",
        f"recheck.{form}",
        result=result,
        headings=HEADINGS,
        place=_place(result),
        was=_was,
        hints=[result.undecided, str(result.uncontrolled), str(result.ahead)],
        left_out=left_out(result),
        items=result.items or "none with a verdict",
    )


def _was(change: StatusChange) -> str:
    was = f" (was {change.previous})" if change.previous else ""
    if change.found_at:
        was += f", found by a re-check that ended before it could tell, on {change.found_at:%Y-%m-%d}"
    return was


def _place(result: Recheck) -> str:
    """Device, processor, CPU capability and system: another processor may give other verdicts."""
    return environment_text(environment_of(result.reference, 1))
