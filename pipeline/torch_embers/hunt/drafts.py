"""Drafts of reports about what the hunt found, in the order of PyTorch's form. They are printed and never posted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_embers import resources, settings, toml_models
from torch_embers.builds.registry import Registry
from torch_embers.cases import shipped_verdicts
from torch_embers.errors import InputError
from torch_embers.hunt import sweep
from torch_embers.hunt.journal import finding_id, journal_in
from torch_embers.hunt.known_findings import judgement_of
from torch_embers.verdicts.matrix import version_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from torch_embers.hunt.journal import Hunted
    from torch_embers.oracles.finding import Finding


class Draft(toml_models.Entry):
    """A finding in the words of a report; what releases do is read from the matrix.

    Attributes:
        case: name of a file in data/cases, by which the draft is called.
        also: further cases of the same cause.
        measured: what releases do, where no case shows it.
        about: what is done, what should happen, what happens.
        script: a few lines that end with an AssertionError where the bug is there.
        looked_up: what a search of PyTorch's issues for the same bug found.
        became: what became of it, and when that was seen.
    """

    case: str
    also: tuple[str, ...] = ()
    measured: str = ""
    title: str
    about: str
    script: str
    looked_up: str
    became: str

    @property
    def cases(self) -> tuple[str, ...]:
        """Files of data/cases that show it."""
        return () if self.measured else (self.case, *self.also)


class Drafts(toml_models.Entry):
    """What data/hunt_drafts.toml holds."""

    draft: tuple[Draft, ...]


def written() -> tuple[Draft, ...]:
    """The drafts of data/hunt_drafts.toml."""
    return toml_models.load(Drafts, "hunt_drafts.toml").draft


def draft(name: str, out: Path) -> str:
    """The draft of a report: of a case that data/hunt_drafts.toml has, or of a finding in a folder's journal.

    Raises:
        InputError: there is no such case and no such finding.
    """
    of_a_case = next((one for one in written() if one.case == name), None)
    values = _of_case(of_a_case) if of_a_case else _of_finding(name, journal_in(out), out)
    return resources.package_file("hunt", "draft.md").read_text(encoding="utf-8").format(**values)


def _of_case(one: Draft) -> dict[str, str]:
    rows = shipped_verdicts.matrix()
    own = [row for row in rows if row["case"] == one.case]
    newest = max(own, key=lambda row: version_key(row["build"]), default=None)
    seen = f"On {newest['build']}: {newest['seen']}.\n" if newest and newest["verdict"] == "occurs" else ""
    return {
        "title": one.title,
        "seen": f"{one.about}\n\n{seen}",
        "layouts": "",
        "script": _script("In short, with an AssertionError where the fault is there:", one.script.lstrip()),
        "looked_up": one.looked_up,
        "versions": one.measured or _of_matrix(one.cases, rows),
        "environment": f"Environment of these runs: {newest['environment']}." if newest else "",
    }


def _of_finding(name: str, rows: Sequence[Hunted], out: Path) -> dict[str, str]:
    found = [(row, one) for row in rows for one in row.all_findings() if finding_id(one) == name]
    if not found:
        raise InputError(
            f"no finding {name} in {out}: `embers research hunt --out {out}` prints their names; a case with a draft "
            f"is one of {', '.join(sorted(one.case for one in written()))}"
        )
    row, first = next((pair for pair in found if pair[1].reproducer), found[0])
    worst, said = first.difference, DIES if first.severity == "crash" else COMPARED
    return {
        "title": first.message,
        "seen": f"At {list(worst.index)} it gives {worst.got}; {worst.expected} is expected.\n" if worst else "",
        "layouts": "\n".join(f"- `{layout}`" for layout in first.layouts),
        "script": _script(said, first.reproducer) if first.reproducer else "No script could be made of this call.\n",
        "looked_up": "Nobody looked for reports of the same bug yet.",
        "versions": _versions(found, rows),
        "environment": _environment(row.build),
    }


def _script(said: str, text: str) -> str:
    return f"{said}\n\n```python\n{text}```\n"


def _versions(found: Sequence[tuple[Hunted, Finding]], rows: Sequence[Hunted]) -> str:
    """On which releases it occurs: by the matrix where a case shows the finding, else by the hunts of the journal."""
    known = judgement_of(found[0][1], found[0][0].release, sweep.rules().known)
    if known and known.cases:
        return _of_matrix(known.cases, shipped_verdicts.matrix())
    having = {row.build for row, _ in found}
    calls = {(row.op, row.dtype) for row, _ in found}
    clean = {row.build for row in rows if (row.op, row.dtype) in calls and not row.ended} - having
    without = f" Not with the same samples on: {_in_order(clean)}." if clean else ""
    return f"It occurs on: {_in_order(having)}.{without} No other release was hunted on."


def _of_matrix(cases: Sequence[str], rows: Sequence[dict[str, str]]) -> str:
    """What the verdicts of cases say, one line per case."""
    lines = []
    for case in cases:
        verdicts: dict[str, list[str]] = {}
        for row in rows:
            if row["case"] == case:
                verdicts.setdefault(row["verdict"], []).append(row["build"])
        said = "; ".join(f"{WORDS.get(name, name)} {_in_order(builds)}" for name, builds in sorted(verdicts.items()))
        lines.append(f"Measured by the case `{case}`: {said or 'on no release yet'}.")
    return "\n".join(lines)


def _in_order(names: Iterable[str]) -> str:
    """Builds in the order of their versions."""
    return ", ".join(sorted(set(names), key=lambda name: (version_key(name), name)))


def _environment(name: str) -> str:
    """What PyTorch's form asks for, of a registered build."""
    build = next((one for one in Registry(settings.load().builds_dir).installed() if one.name == name), None)
    if build is None:
        return f"Build {name}; it is not registered here any more."
    return (
        f"PyTorch {build.version} (commit {build.git_commit}), Python {build.python_version}, {build.platform}, "
        f"CPU, capability {build.capability or 'unknown'}."
    )


WORDS = {"occurs": "it occurs on", "absent": "it does not on", "untestable": "it cannot be tested on"}
"""How verdicts are said in a report; the others by their names."""
COMPARED = """The expected values are those of the same call on dense copies, checked in double precision. The script
exits with 1 where the fault is there, with 0 where it is not, with 125 where it cannot be told."""
DIES = "The process ends, or does not come back, where the fault is there."
