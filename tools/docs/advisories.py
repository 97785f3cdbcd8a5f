"""docs/advisories.md: what torch's security advisories publish beside what was executed."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from torch_embers.audit import advisories, ranges

from .markdown import PYTORCH, cell, code, issue_link, table

if TYPE_CHECKING:
    from torch_embers.audit.advisories import Executed

HEADINGS = ("advisory", "published", "status", "occurs on", "deviation")


@cache
def _executed() -> list[Executed]:
    return advisories.executed()


def overview() -> str:
    """Published and executed range of each advisory."""
    rows = []
    for one in _executed():
        entry, measured = one.advisory, list(one.verdicts)
        published = f"[{cell(ranges.published(entry.published))}]({entry.source})"
        occurs = ranges.spans(one.occurs, measured)
        rows.append([f"[{entry.id}](#{entry.id.lower()})", published, entry.status, occurs, ranges.deviation(one)])
    return table(HEADINGS, rows)


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
            f"- The case: {code(entry.case)}. {cell(entry.relation)}\n"
            f"- [Upstream]({entry.upstream_source}): {cell(entry.upstream)}",
            table(("verdict", "releases", "hits/runs", "control", "seen"), rows),
        ]
    )


def not_executed() -> str:
    """Advisories that no case runs, with the reason."""
    rows = [[f"[{one.id}]({one.source})", cell(one.reason)] for one in advisories.load().not_executed]
    return table(("advisory", "why it was not executed"), rows)
