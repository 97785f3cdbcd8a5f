"""docs/advisories.md: what torch's security advisories publish beside what was executed."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from torch_embers.audit import advisories, ranges

from .markdown import PYTORCH, cell, code, issue_link, table

if TYPE_CHECKING:
    from torch_embers.audit.advisories import Executed, Published

HEADINGS = ("advisory", "status", "occurs on", "published", "deviation from it")


@cache
def _executed() -> list[Executed]:
    return advisories.executed()


def overview() -> str:
    """Published and executed ranges of each advisory, a row per published range."""
    rows = []
    for one in _executed():
        entry = one.advisory
        first = [f"[{entry.id}](#{entry.id.lower()})", entry.status, ranges.spans(one.occurs, list(one.verdicts))]
        for at, of in enumerate(one.deviations):
            rows.append([*(["", "", ""] if at else first), _published(of.published), cell(ranges.deviation(one, of))])
    return table(HEADINGS, rows)


def _published(entry: Published) -> str:
    return f"[{entry.database}]({entry.source}), {entry.day}: {cell(ranges.published(entry))}"


def counts() -> str:
    """How many advisories, ranges and releases the table is about, and what the ranges came to."""
    listed = _executed()
    done = [one for one in listed if one.run]
    found = [of for one in done for of in one.deviations]
    odd = [of.published for of in found if of.published.odd_end]
    unlisted = sum(entry.listed == 0 for entry in odd)
    releases = {release for one in done for release in one.verdicts}
    return (
        f"{len(done)} of {len(listed) + len(advisories.load().not_executed)} advisories were executed, on up to "
        f"{len(releases)} releases each. For them {len(found)} published ranges were read: "
        f"{sum(bool(of.unexpected) for of in found)} leave out a release on which the case occurs, "
        f"{sum(bool(of.missing) for of in found)} hold one on which it was not seen, and "
        f"{len(odd)} end at what is no version ({unlisted} of these list no release either)."
    )


def evidence() -> str:
    """A section per advisory: what it is about, what upstream says, and the verdicts."""
    return "\n\n".join(_section(one) for one in _executed())


def _section(one: Executed) -> str:
    entry, measured = one.advisory, list(one.verdicts)
    issues = ", ".join(issue_link(PYTORCH, number) for number in entry.issues)
    kinds = sorted({row["verdict"] for row in one.verdicts.values()})
    rows = []
    for kind in kinds:
        found = {name: row for name, row in one.verdicts.items() if row["verdict"] == kind}
        runs = sorted({f"{row['k']}/{row['n']}" for row in found.values()})
        controls = sorted({row["control"] for row in found.values()})
        seen = sorted({row["detail"] for row in found.values()})
        rows.append([kind, ranges.spans(found, measured), ", ".join(runs), ", ".join(controls), cell("; ".join(seen))])
    return "\n\n".join(
        [
            f"### {entry.id}",
            f"{cell(entry.summary)} Also: {', '.join(entry.aliases)}." + (f" Reports: {issues}." if issues else ""),
            f"- The case: {code(entry.case)}. {cell(entry.relation)} {_sentence(ranges.coverage(one))}\n"
            + "".join(
                f"- {of.published.database}'s range: {cell(of.published.note)}\n"
                for of in one.deviations
                if of.published.note
            )
            + f"- [Upstream]({entry.upstream_source}): {cell(entry.upstream)}",
            table(("verdict", "releases", "hits/runs", "control", "seen"), rows),
        ]
    )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}".removesuffix(".") + "."


def not_executed() -> str:
    """Advisories that no case runs, with the reason."""
    rows = [[f"[{one.id}]({one.source})", cell(one.reason)] for one in advisories.load().not_executed]
    return table(("advisory", "why it was not executed"), rows)
