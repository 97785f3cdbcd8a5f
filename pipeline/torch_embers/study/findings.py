"""Findings: each one of data/findings.toml is supported by the data, or the data are insufficient."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from torch_embers import toml_models
from torch_embers.study.figures.table import cell

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch_embers.study.figures.make import Study
    from torch_embers.study.figures.table import Row, Table

DEFINITIONS = "findings.toml"
Z = 1.959964
"""Two-sided 95 %."""
UNDATED = "still_occurring"
"""The table that counts issues with a case whose state on a day in the past, or its reason, nobody dates."""


class StudyFinding(toml_models.Entry):
    """A sentence about a table or figure, and the test that decides whether the data support it."""

    id: str
    says: str
    scope: Literal["tracker", "cases", "labels"]
    figure: str
    test: Literal["first", "more", "share", "median", "agree"]
    reason: str
    where: dict[str, Any] = Field(default_factory=dict)
    least: float = 0.0


class _File(toml_models.Entry):
    finding: tuple[StudyFinding, ...]
    withdrawn: tuple[dict[str, str], ...] = ()
    """Findings that were printed once; docs/study.md lists them."""
    _distinct = toml_models.distinct("finding")


@dataclass(frozen=True, slots=True)
class Outcome:
    """A finding with the numbers of this database, and why they do not suffice (empty where they do)."""

    finding: StudyFinding
    numbers: str
    insufficient: str

    @property
    def supported(self) -> bool:
        """Whether the data support it."""
        return not self.insufficient


def load() -> tuple[StudyFinding, ...]:
    """Read data/findings.toml.

    Raises:
        InputError: an entry is malformed.
    """
    return toml_models.load(_File, DEFINITIONS).finding


def decide(study: Study, findings: Sequence[StudyFinding] | None = None) -> tuple[Outcome, ...]:
    """Decide every finding whose table or figure was made."""
    made = {table.definition.id for table in study.tables}
    return tuple(_decided(study, f) for f in (load() if findings is None else findings) if f.figure in made)


def record(study: Study, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Everything about a study that is no row, as study.json has it: days, samples, notes, findings."""
    plan = study.plan
    return {
        "as_of": plan.today.last.isoformat(),
        "paper_ends": plan.paper.last.isoformat(),
        "items": study.items,
        "frame": study.frame.record,
        "samples": [
            {"name": s.name, "label": s.label, "reason": s.reason, "items": study.sizes[s.name]} for s in plan.samples
        ],
        "figures": [
            {"id": t.definition.id, "heading": t.definition.heading, "rows": len(t.rows), "notes": list(t.notes)}
            for t in study.tables
        ],
        "findings": [
            {"id": o.finding.id, "says": o.finding.says, "scope": o.finding.scope}
            | {"numbers": o.numbers, "insufficient_data": o.insufficient}
            for o in outcomes
        ],
    }


def _decided(study: Study, finding: StudyFinding) -> Outcome:
    table = study.table(finding.figure)
    rows = table.of(**finding.where)
    if not rows:
        return Outcome(finding, "", table.notes[-1] if not table.rows else "no row is about it")
    numbers, insufficient = TESTS[finding.test](finding, rows, table, study.plan.limits.least_finding)
    if not insufficient and finding.scope == "tracker" and not study.frame.census:
        insufficient = f"{study.frame.words}; what was collected decides it"
    if not insufficient and finding.scope == "cases":
        undated = [
            t.of(scheme="all", state="not known of that day") for t in study.tables if t.definition.id == UNDATED
        ]
        if left := sum(int(row["n"]) for rows in undated for row in rows):
            insufficient = (
                f"a day in the past: of {left} more issues nobody says whether they were open then, or why closed"
            )
    return Outcome(finding, numbers, insufficient)


def _few(n: int, least: int) -> str:
    return f"{n} items, {least} are needed" if n < least else ""


def _first(_: StudyFinding, rows: Sequence[Row], __: Table, least: int) -> tuple[str, str]:
    counts = {str(row["class"]): int(row["type_k"] if "type_k" in row else row["k"]) for row in rows}
    n = int(rows[0]["n"])
    ordered = sorted(counts, key=lambda c: (-counts[c], c))
    first, second = ordered[0], (ordered[1] if len(ordered) > 1 else "")
    a, b = counts[first], counts.get(second, 0)
    numbers = f"{first}: {a} of {n} ({100 * a / n:.1f} %)" + (f", before {second}: {b}" if second else "")
    # two shares of one whole: variance of their difference from the multinomial
    p, q = a / n, b / n
    clear = (p - q) - Z * sqrt(max(0.0, p + q - (p - q) ** 2) / n) > 0
    return numbers, _few(n, least) or ("" if clear else f"not clearly before {second}")


def _more(_: StudyFinding, rows: Sequence[Row], __: Table, least: int) -> tuple[str, str]:
    row = rows[0]
    numbers = f"{row['k']} of {row['n']} before, {row['later_k']} of {row['later_n']} after"
    if row["difference"] is None:
        return numbers, _few(min(row["n"], row["later_n"]), least)
    low, high = row["difference_low"], row["difference_high"]
    # rounded as in files first, so that a finding prints what its table does
    points, least_points, most_points = map(cell, (row["difference"], low, high))
    numbers += f": {points:+.1f} points [{least_points:+.1f}, {most_points:+.1f}]"
    return (
        numbers,
        "" if low > 0 else "no difference shown: its interval, adjusted for all of the table, holds 0 or less",
    )


def _share(_: StudyFinding, rows: Sequence[Row], __: Table, least: int) -> tuple[str, str]:
    row = rows[0]
    share = cell(row["share"])
    spread = f" ({share:.1f} %)" if share is not None else ""
    return f"{row['k']} of {row['n']}{spread}, on {row['release']}", _few(int(row["n"]), least)


def _median(_: StudyFinding, rows: Sequence[Row], table: Table, least: int) -> tuple[str, str]:
    row = rows[0]
    if row["median_to"] is None:
        numbers = f"{row[table.definition.event]} of {row['n']} {table.definition.event}"
        return numbers, _few(int(row["n"]), least) or "half of them are not through"
    between = f"between {row['median_from']:.0f} and {row['median_to']:.0f} days"
    low, high = ("open" if row[end] is None else f"{row[end]:.0f}" for end in ("low", "high"))
    wide = "its interval is open" if "open" in (low, high) else ""
    return f"{between} [{low}, {high}], {row['n']} issues", _few(int(row["n"]), least) or wide


def _agree(finding: StudyFinding, rows: Sequence[Row], __: Table, least: int) -> tuple[str, str]:
    row = min(rows, key=lambda r: float(r["low"]))
    numbers = f"{row['same']} of {row['n']}, kappa {row['kappa']:.2f} [{row['low']:.2f}, {row['high']:.2f}]"
    low = "" if row["low"] >= finding.least else f"the lower limit is below {finding.least}"
    return numbers, _few(int(row["n"]), least) or low


TESTS: dict[str, Callable[[StudyFinding, Sequence[Row], Table, int], tuple[str, str]]] = {
    "first": _first,
    "more": _more,
    "share": _share,
    "median": _median,
    "agree": _agree,
}
"""Each returns the numbers in words, and why they do not suffice (empty where they do)."""
