"""The script of a report for what acts on it: its text, a run of it, the flips of what it does, builds beside them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from torch_embers.errors import InputError
from torch_embers.extract.script import Script, from_row
from torch_embers.timeline.running import attempt_of, threads_here

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    import duckdb

    from torch_embers.builds.registry import Build
    from torch_embers.extract.script import NoScript
    from torch_embers.sandbox.runner import Attempt
    from torch_embers.timeline.model import Segment, Timeline

_SCRIPTS = """
FROM scripts WHERE $repo IS NULL OR (repo = $repo AND number = $number) ORDER BY repo, number
"""


@dataclass(frozen=True, slots=True)
class ItemScript:
    """The script of a report."""

    repo: str
    number: int
    script: Script

    @property
    def name(self) -> str:
        """The report, as people write it."""
        return f"{self.repo}#{self.number}"

    def attempt(self, key: str, code: str, seed: int, timeout: float | None = None) -> Attempt:
        """A run of a text in the place of the script, as observations are made."""
        usual = attempt_of(self.script.code, self.script.environment, seed, threads_here())
        return replace(usual, key=key, code=code, timeout=timeout or usual.timeout)


def scripts(connection: duckdb.DuckDBPyConnection) -> list[ItemScript]:
    """The scripts of all reports that have one."""
    return [one for one in _read(connection, None, None) if isinstance(one, ItemScript)]


def of_report(connection: duckdb.DuckDBPyConnection, repo: str, number: int) -> ItemScript:
    """The script of one report.

    Raises:
        InputError: it has none; the message says why.
    """
    found = next(_read(connection, repo, number), None)
    if isinstance(found, ItemScript):
        return found
    raise InputError(
        f"{repo}#{number} has no script: {found.detail}"
        if found
        else f"nothing is known of a script of {repo}#{number}: `embers mine --refresh {number}` brings the report, "
        f"`embers run {number}` reads and runs it"
    )


def _read(
    connection: duckdb.DuckDBPyConnection, repo: str | None, number: int | None
) -> Iterator[ItemScript | NoScript]:
    found = connection.execute(_SCRIPTS, {"repo": repo, "number": number})
    names = [column[0] for column in found.description or ()]
    for values in found.fetchall():
        row = dict(zip(names, values, strict=True))
        script = from_row(row)
        yield ItemScript(row["repo"], row["number"], script) if isinstance(script, Script) else script


def borders(timeline: Timeline | None) -> list[tuple[Segment, Segment]]:
    """The flips of a timeline in more than wording, the oldest first: the segments on both sides."""
    known = timeline.behaviours if timeline else []
    return [(before, after) for before, after in pairwise(known) if after.is_flip]


def installed(segment: Segment, builds: Collection[Build], *, newest: bool) -> Build | None:
    """The newest, or oldest, of the builds of a segment; None where there is none."""
    own = sorted((b for b in builds if b.public_version in segment.versions), key=lambda b: b.order())
    return own[-1 if newest else 0] if own else None
