"""Drafts of reports about what the hunt found, in the order of PyTorch's form. They are printed and never posted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packaging.version import InvalidVersion, Version

from torch_embers import settings, toml_models
from torch_embers.builds.registry import Registry
from torch_embers.cases import shipped_verdicts
from torch_embers.errors import InputError
from torch_embers.hunt import sweep as hunt
from torch_embers.hunt.known import is_known
from torch_embers.hunt.rows import Hunted, ident
from torch_embers.oracles.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

Found = tuple[Hunted, Finding]


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
    for one in written():
        if one.case == name:
            return of_case(one)
    return of_finding(name, hunt.journal_in(out), out)


def of_case(one: Draft) -> str:
    """The draft of a report about a case."""
    rows = shipped_verdicts.matrix()
    own = [row for row in rows if row["case"] == one.case]
    newest = max(own, key=lambda row: Version(row["build"]), default=None)
    seen = f"On {newest['build']}: {newest['seen']}.\n" if newest and newest["verdict"] == "occurs" else ""
    return DRAFT.format(
        title=one.title,
        seen=f"{one.about}\n\n{seen}",
        looked_up=one.looked_up,
        layouts="",
        script=SHORT.format(short=one.script.lstrip(), whole=""),
        versions=one.measured or of_matrix(one.cases, rows),
        environment=f"Environment of these runs: {newest['environment']}." if newest else "",
    )


def of_finding(name: str, rows: Sequence[Hunted], out: Path) -> str:
    """The draft of a report about a finding of a journal.

    Raises:
        InputError: there is no such finding.
    """
    found: list[Found] = [(row, one) for row in rows for one in row.all_findings() if ident(one) == name]
    if not found:
        raise InputError(
            f"no finding {name} in {out}: `embers research hunt --out {out}` prints their names; a case with a draft "
            f"is one of {', '.join(sorted(one.case for one in written()))}"
        )
    row, first = next((pair for pair in found if pair[1].reproducer), found[0])
    worst = first.difference
    seen = f"At {list(worst.index)} it gives {worst.got}; {worst.expected} is expected.\n" if worst is not None else ""
    return DRAFT.format(
        title=first.message,
        seen=seen,
        looked_up="Nobody looked for reports of the same bug yet.",
        layouts="\n".join(f"- `{layout}`" for layout in first.layouts),
        script=scripts(first),
        versions=versions(found, rows),
        environment=environment(row.build),
    )


def versions(found: Sequence[Found], rows: Sequence[Hunted]) -> str:
    """On which releases it occurs: by the matrix where a case shows the finding, else by the hunts of the journal."""
    known = is_known(found[0][1], found[0][0].release, hunt.rules().known)
    if known and known.cases:
        return of_matrix(known.cases, shipped_verdicts.matrix())
    having = {row.build for row, _ in found}
    calls = {(row.op, row.dtype) for row, _ in found}
    clean = {row.build for row in rows if (row.op, row.dtype) in calls and not row.ended} - having
    text = f"It occurs on: {', '.join(by_version(having))}."
    if clean:
        text += f" Not with the same samples on: {', '.join(by_version(clean))}."
    return f"{text} No other release was hunted on."


def of_matrix(cases: Sequence[str], rows: Sequence[dict[str, str]]) -> str:
    """What the verdicts of cases say, one line per case."""
    lines = []
    for case in cases:
        verdicts: dict[str, list[str]] = {}
        for row in rows:
            if row["case"] == case:
                verdicts.setdefault(row["verdict"], []).append(row["build"])
        said = "; ".join(
            f"{WORDS.get(verdict, verdict)} {', '.join(by_version(builds))}"
            for verdict, builds in sorted(verdicts.items())
        )
        lines.append(f"Measured by the case `{case}`: {said or 'on no release yet'}.")
    return "\n".join(lines)


def scripts(found: Finding) -> str:
    """The part of a draft that shows the fault: the few lines first, where there are some."""
    if not found.reproducer:
        return "No script could be made of this call.\n"
    whole = WHOLE.format(said=DIES if found.severity == "crash" else COMPARED, script=found.reproducer)
    return SHORT.format(short=found.short, whole=FOLDED.format(whole=whole)) if found.short else whole


def by_version(names: Iterable[str]) -> list[str]:
    """Builds in the order of their versions; those that are named otherwise come last."""

    def key(name: str) -> tuple[bool, Version | str]:
        try:
            return False, Version(name)
        except InvalidVersion:
            return True, name

    return sorted(set(names), key=key)


def environment(build: str) -> str:
    """What PyTorch's form asks for, of a registered build."""
    known = {one.name: one for one in Registry(settings.load().builds_dir).installed()}
    if build not in known:
        return f"Build {build}; it is not registered here any more."
    one = known[build]
    return (
        f"PyTorch {one.version} (commit {one.git_commit}), Python {one.python_version}, {one.platform}, "
        f"CPU, capability {one.capability or 'unknown'}."
    )


WORDS = {"occurs": "it occurs on", "absent": "it does not on", "untestable": "it cannot be tested on"}
"""How verdicts are said in a report; the others by their names."""

DRAFT = """> **Made by a tool.** Embers made this draft, its script and its measurements. Before it is
> posted, a person has to read it, run the script, say in their own words why it matters, and sign it. Say in the report
> that a tool found it. Label to ask for: `topic: fuzzer`.

### In the words of the person who reports it

<!-- Who meets this, and what it did to you. Without these words PyTorch does not take a report. -->

### Describe the bug

{title}

{seen}
{layouts}

{script}
### Earlier reports

{looked_up}

### Versions

{versions}

{environment}
"""

SHORT = """In short, with an AssertionError where the fault is there:

```python
{short}```
{whole}"""

FOLDED = """
<details><summary>The whole script</summary>

{whole}
</details>
"""

WHOLE = """{said}

```python
{script}```
"""

COMPARED = """The expected values are those of the same call on dense copies, checked in double precision. The script
exits with 1 where the fault is there, with 0 where it is not, with 125 where it cannot be told."""

DIES = "The process ends, or does not come back, where the fault is there."
