"""The script of a report for what acts on it: its text, a run of it, the flips of what it does, builds beside them."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from torch_embers.errors import InputError
from torch_embers.extract.script import Script
from torch_embers.timeline.running import attempt_of, threads_here

if TYPE_CHECKING:
    from collections.abc import Collection

    import duckdb

    from torch_embers.builds.registry import Build
    from torch_embers.sandbox.runner import Attempt
    from torch_embers.timeline.model import Segment, Timeline

_SCRIPTS = """
SELECT repo, number, code, environment, coalesce(device, ''), found_in
FROM scripts
WHERE script IS NOT NULL AND ($repo IS NULL OR (repo = $repo AND number = $number))
ORDER BY repo, number
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


def scripts(connection: duckdb.DuckDBPyConnection, item: tuple[str, int] | None = None) -> list[ItemScript]:
    """The scripts of all reports that have one, or that of one report."""
    repo, number = item or (None, None)
    found = connection.execute(_SCRIPTS, {"repo": repo, "number": number}).fetchall()
    return [
        ItemScript(of, n, Script(code, (), json.loads(environment or "{}"), device, place))
        for of, n, code, environment, device, place in found
    ]


def of_report(connection: duckdb.DuckDBPyConnection, repo: str, number: int) -> ItemScript:
    """The script of one report.

    Raises:
        InputError: it has none; the message says why.
    """
    found = scripts(connection, (repo, number))
    if found:
        return found[0]
    why = connection.execute("SELECT detail FROM scripts WHERE repo = ? AND number = ?", [repo, number]).fetchone()
    raise InputError(
        f"{repo}#{number} has no script: {why[0]}"
        if why
        else f"nobody has read {repo}#{number} for a script: `embers run {number}` does"
    )


def borders(timeline: Timeline | None) -> list[tuple[Segment, Segment]]:
    """The flips of a timeline in more than wording, the oldest first: the segments on both sides."""
    known = timeline.behaviours if timeline else []
    return [(before, after) for before, after in pairwise(known) if after.is_flip]


def installed(segment: Segment, builds: Collection[Build], *, newest: bool) -> Build | None:
    """The newest, or oldest, of the builds of a segment; None where there is none."""
    own = sorted((b for b in builds if b.public_version in segment.versions), key=lambda b: b.order())
    return own[-1 if newest else 0] if own else None
