"""Rows of ``timelines``, derived from observations, scripts, texts of reports and what is known of their fixes."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from packaging.version import Version

from torch_embers import resources
from torch_embers.extract.script import ReportText
from torch_embers.statistics.absence import AbsenceRules, runs_needed
from torch_embers.store import rows
from torch_embers.timeline import judged, match
from torch_embers.timeline.behaviour import showing
from torch_embers.timeline.model import GAPS, LOUD, MIXED, Observation, Segment
from torch_embers.timeline.segments import segments

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from datetime import datetime

    import duckdb

    from torch_embers.store.writer import Writer

OWN = "own"
AT_ONCE = 100
"""Items whose observations are held in memory at one time."""
_OBSERVED = """
SELECT script, environment, version, batch, ran_at, ending, what, message, frame, printed, threads, seed
FROM observations WHERE list_contains(?, script) ORDER BY script, environment, seed, batch, attempt
"""


class Run(NamedTuple):
    """An observation with the batch that it belongs to, and when it was made."""

    batch: int
    at: datetime
    seen: Observation


def refresh(writer: Writer, items: Collection[tuple[str, int]] | None = None) -> int:
    """Derive the timelines of items anew; return how many rows were written.

    Args:
        writer: of the database.
        items: repository and number; None means all.

    Raises:
        InputError: a file of rules or judgements cannot be used.
        StoreError: the database cannot be written.
    """
    asked = None if items is None else [f"{repo}#{number}" for repo, number in items]
    with writer.transaction() as connection:
        made = list(derived(connection, asked, judged.reported(connection, writer.path)))
        connection.execute(
            "DELETE FROM timelines WHERE provenance = $own AND ($numbers IS NULL "
            "OR list_contains($numbers, repo || '#' || number))",
            {"own": OWN, "numbers": asked},
        )
        rows.append(connection, "timelines", made)
        judged.apply(connection, writer.path)
    return len(made)


def derived(
    connection: duckdb.DuckDBPyConnection, items: list[str] | None, reported: Collection[tuple[str, str]] = ()
) -> Iterator[dict[str, Any]]:
    """Rows of ``timelines`` as the rules make them; what readers and oracles say of a match is not in them yet.

    Args:
        connection: to the database.
        items: as ``owner/name#number``; None means all.
        reported: scripts and releases on which these say that it shows what was reported.
    """
    query = resources.package_file("timeline", "timelines.sql").read_text(encoding="utf-8")
    known = connection.execute(query, {"numbers": items}).fetchall()
    for start in range(0, len(known), AT_ONCE):
        some = known[start : start + AT_ONCE]
        observed = _observed(connection, [script for _, _, script, *_ in some])
        for item in some:
            yield from _rows(item, observed, reported)


def _observed(connection: duckdb.DuckDBPyConnection, scripts: list[str]) -> dict[str, dict[str, dict[str, list[Run]]]]:
    """The runs of some scripts, by script, environment and release."""
    found: dict[str, dict[str, dict[str, list[Run]]]] = {}
    for script, environment, version, batch, at, *seen in connection.execute(_OBSERVED, [scripts]).fetchall():
        by_version = found.setdefault(script, {}).setdefault(environment, {})
        by_version.setdefault(version.partition("+")[0], []).append(Run(batch, at, Observation(*seen)))
    return found


def _rows(
    item: Sequence[Any],
    observed: Mapping[str, Mapping[str, Mapping[str, list[Run]]]],
    reported: Collection[tuple[str, str]],
) -> Iterator[dict[str, Any]]:
    repo, number, script, device, title, body, comments, *fix = item
    text = ReportText(title, body, tuple(comments))
    said = {version for one, version in reported if one == script}
    for environment, runs in observed.get(script, {}).items():
        for place, segment in enumerate(derive(text, device, runs, known_fix(*fix), said)):
            yield {
                "repo": repo,
                "number": number,
                "script": script,
                "environment": environment,
                "device": device or None,
                "place": place,
                **asdict(segment),
                "provenance": OWN,
                "decided_at": max(run.at for some in runs.values() for run in some),
            }


def derive(
    text: ReportText,
    device: str,
    runs: Mapping[str, Sequence[Run]],
    fix: Version | None,
    reported: Collection[str] = (),
) -> list[Segment]:
    """The segments of a script in one environment.

    Args:
        text: of the report.
        device: of the script: what it is about, where it ran on the CPU instead; then nothing is matched.
        runs: by release.
        fix: the first release that has the known fix.
        reported: releases on which readers or oracles say that the script shows what was reported.
    """
    seen = {version: [run.seen for run in some] for version, some in runs.items()}
    if not device:
        seen = match.with_quoted_errors(seen, text)
    found = segments(seen)
    if not device:
        found = match.matched(found, seen, text)
    return _with_fix(_confirmed(found, runs, reported), fix)


def _confirmed(found: Sequence[Segment], runs: Mapping[str, Sequence[Run]], reported: Collection[str]) -> list[Segment]:
    """Say of each segment whether its runs show that the last crash, hang or reported behaviour before it is gone."""
    made: list[Segment] = []
    bad: Segment | None = None
    for segment in found:
        is_gap = segment.ending in GAPS
        enough = bad is not None and not is_gap and _enough(runs[bad.versions[-1]], runs[segment.versions[-1]])
        made.append(replace(segment, confirmed=enough))
        is_reported = segment.match == "as_reported" or not set(segment.versions).isdisjoint(reported)
        if segment.crashes or segment.ending in LOUD or is_reported:
            bad = segment
        elif segment.ending == MIXED:  # no number of runs shows that what varies does not any more
            bad = None
    return made


def _enough(bad: Sequence[Run], clean: Sequence[Run]) -> bool:
    """Whether both batches have as many clean runs as the hit rate on the bad side asks for (data/verdicts.toml)."""
    bad, clean = ([run for run in runs if run.seen.ending not in GAPS] for runs in (bad, clean))
    control = [run.seen for run in bad if run.batch == 1]
    asked = runs_needed(showing(control, control), len(control), AbsenceRules.load())
    if asked is None or showing([run.seen for run in clean], control):
        return False
    return all(sum(run.batch == batch for run in clean) >= asked for batch in (1, 2))


def known_fix(release: str | None, versions: Sequence[str] | None) -> Version | None:
    """The first release with the fix: that of its commit, else what the catalog says."""
    return min(map(Version, [release] if release else versions or ()), default=None)


def _with_fix(found: list[Segment], fix: Version | None) -> list[Segment]:
    """Say of each border whether it is at the release with the fix, where the fix is one of the releases that ran."""
    if fix is None or not found or fix > Version(found[-1].versions[-1]):
        return found
    made: list[Segment] = []
    before: Version | None = None
    for segment in found:
        at_fix = None if before is None else before < fix <= Version(segment.versions[0])
        made.append(replace(segment, at_fix=at_fix if segment.flip else None))
        before = before if segment.ending in GAPS else Version(segment.versions[-1])
    return made
