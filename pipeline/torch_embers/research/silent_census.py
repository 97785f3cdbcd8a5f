"""The census of the issues labelled ``module: correctness (silent)`` from May to September 2026.

What was read of each report is ``data/census_2026.csv``: numbers, days and classes, no text. What its case or script
does on each release comes from a database.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from dataclasses import asdict, dataclass
from datetime import date
from typing import TYPE_CHECKING

from torch_embers import resources
from torch_embers.settings import DEFAULT_REPO
from torch_embers.statistics.intervals import percent
from torch_embers.study import result_files
from torch_embers.study.fact_tables import release_days
from torch_embers.timeline.model import GAPS
from torch_embers.verdicts.item_verdict import item_verdict
from torch_embers.verdicts.matrix import builds_of, preferred, version_key
from torch_embers.views.item_evidence import answered

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from torch_embers.store.store import Store
    from torch_embers.views.item_report import ItemReport

FILE = "census_2026.csv"
Shows = dict[str, str]
"""Release to ``occurs`` or ``absent``; others decide nothing, and are left out."""


@dataclass(frozen=True, slots=True)
class Counted:
    """An issue of the census, a row of analysis/results/census_2026.csv. Empty text: not known, or does not apply.

    Attributes:
        text: of its report that was seen: whole, cut or absent.
        script: in that text: whole, cut or none.
        area: of PyTorch that is wrong.
        by: what was run: case, another_input (a case of a like input), script, undecided (none of them decides); or why
            nothing was.
        newest: what that shows on the newest release, ``occurs`` or ``absent``.
        first_bad: the first release on which it occurs.
        clean_before: whether an older release was decided and is clean: then the bug came with ``first_bad``.
        regression: whether it occurs on the newest release and is absent on the one before.
        days_in_release: from that release to the report, in days; at least so many where nothing older is clean.
        umbrella: the issue that gathers it, and others, or that it repeats.
        closable: yes, no or unknown.
    """

    number: int
    created: str
    state: str
    text: str
    script: str
    area: str
    by: str
    newest: str
    first_bad: str
    clean_before: str
    regression: str
    days_in_release: int | None
    umbrella: str
    closable: str


def read() -> list[dict[str, str]]:
    """What was read of each report.

    Raises:
        InputError: the file is missing.
    """
    return list(csv.DictReader(io.StringIO(resources.data_file(FILE).read_text(encoding="utf-8"))))


def census(store: Store) -> list[Counted]:
    """Every issue of the census, with what a database shows of it, the newest first.

    Raises:
        StoreError: there is no database, or it is of another version.
    """
    known = answered(store)
    reports = {int(row["number"]): known.get((DEFAULT_REPO, int(row["number"]))) for row in read()}
    ran = {build for report in reports.values() if report for build in shown(report)[1]}
    releases = sorted((build for build in ran if not version_key(build).is_prerelease), key=version_key)
    days = release_days()
    facts = sorted(read(), key=lambda row: -int(row["number"]))
    return [counted(row, reports[int(row["number"])], releases, days) for row in facts]


def counted(
    facts: Mapping[str, str], report: ItemReport | None, releases: Sequence[str], days: Mapping[str, date]
) -> Counted:
    """One issue. Pure.

    Args:
        facts: its row of ``FILE``.
        report: what is known of it; None where nothing ran.
        releases: on which anything of the census ran, the oldest first.
        days: of releases.
    """
    by, shows = shown(report) if report else ("", {})
    bad = [build for build in releases if shows.get(build) == "occurs"]
    before, newest = ["", "", *(shows.get(build, "") for build in releases)][-2:]
    first = bad[0] if bad else ""
    started = days.get(first)
    return Counted(
        number=int(facts["number"]),
        created=facts["created"],
        state=facts["state"],
        text=facts["text"],
        script=facts["script"],
        area=facts["area"],
        by=by or ("undecided" if report and report.cases else facts["why_not"]),
        newest=newest,
        first_bad=first,
        clean_before="" if not first else "yes" if min(shows, key=version_key) != first else "no",
        regression="" if not newest else "yes" if (before, newest) == ("absent", "occurs") else "no",
        days_in_release=(date.fromisoformat(facts["created"]) - started).days if started else None,
        umbrella=facts["umbrella"],
        closable=report.answer.closable if report and report.answer else "unknown",
    )


def shown(report: ItemReport) -> tuple[str, Shows]:
    """What decides of an issue, and what it shows on which release: its own case, else one like it, else its script."""
    verdicts = preferred(report.verdicts)
    of_case: dict[str, Shows] = {"case": {}, "another_input": {}}
    for build in builds_of(verdicts):
        said = item_verdict(report.cases, [entry for entry in verdicts if entry.build == build])
        if said.entry.verdict in ("occurs", "absent"):
            of_case["case" if said.speaks_of == "report" else "another_input"][build] = said.entry.verdict
    segments = report.timeline.segments if report.timeline and not report.timeline.device else ()
    decided = {"as_reported": "occurs", "as_expected": "absent"}
    script = {
        version: decided[segment.match]
        for segment in segments
        if segment.ending not in GAPS and segment.match in decided
        for version in segment.versions
    }
    ways = (("case", of_case["case"]), ("script", script), ("another_input", of_case["another_input"]))
    return next(((by, found) for by, found in ways if found), ("", {}))


def lines(found: Sequence[Counted]) -> Iterator[str]:
    """The census in a few sentences: shares with their intervals and what they are of."""
    decided = [one for one in found if one.newest and one.by != "another_input"]
    alive = [one for one in decided if one.newest == "occurs"]
    share = f" ({percent(len(alive), len(decided))})" if decided else ""
    of = f"{len(alive)} of {len(decided)} issues that their own case or script decides"
    yield f"{of} still occur on the newest release{share}."
    back = [f"#{one.number}" for one in decided if one.regression == "yes"]
    yield f"New in the newest release against the one before: {len(back)} ({', '.join(back) or 'none'})."
    aged = sorted(one.days_in_release for one in decided if one.days_in_release is not None)
    if aged:
        half = aged[len(aged) // 2]
        yield f"Of {len(aged)} that occur on some release half were there at least {half:,} days before the report."
    texts, ran = Counter(one.text for one in found), Counter(one.by for one in found)
    yield f"{len(found)} issues: text {_counted(texts)}; decided by or why not: {_counted(ran)}."


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {name or 'not told'}" for name, count in counts.most_common())


def as_csv(found: Sequence[Counted]) -> str:
    """The rows with a heading."""
    return result_files.as_csv([asdict(one) for one in found])
