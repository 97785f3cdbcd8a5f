"""What can be said: statements of data/statements.toml, carried by the data or refused with the reason."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt
from typing import TYPE_CHECKING, Any

from torch_embers import resources
from torch_embers.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch_embers.study.exhibits.make import Study
    from torch_embers.study.exhibits.table import Row, Table

DEFINITIONS = "statements.toml"
SCOPES = ("tracker", "cases", "labels")
Z = 1.959964
"""Two-sided 95 %."""
ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Statement:
    """What one would like to say."""

    id: str
    says: str
    scope: str
    exhibit: str
    test: str
    reason: str
    where: dict[str, Any] = field(default_factory=dict)
    least: float = 0.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """A statement with what the data say: the numbers either way, and why it is refused where it is not carried."""

    statement: Statement
    numbers: str
    refused: str

    @property
    def carried(self) -> bool:
        """Whether it can be said."""
        return not self.refused


def load() -> tuple[Statement, ...]:
    """Read data/statements.toml.

    Raises:
        InputError: an entry is malformed.
    """
    found = []
    for entry in resources.load_toml(DEFINITIONS).get("statement", []):
        try:
            statement = Statement(**entry)
        except TypeError as error:
            raise InputError(f"data/{DEFINITIONS}: statement {entry.get('id', '?')!r}: {error}") from error
        if statement.test not in TESTS or statement.scope not in SCOPES:
            raise InputError(f"data/{DEFINITIONS}: statement {statement.id!r}: no such test or scope")
        found.append(statement)
    return tuple(found)


def decide(study: Study, statements: Sequence[Statement] | None = None) -> tuple[Outcome, ...]:
    """Decide every statement whose exhibit was made."""
    made = {table.exhibit.id for table in study.tables}
    return tuple(_decided(study, s) for s in (load() if statements is None else statements) if s.exhibit in made)


def _decided(study: Study, statement: Statement) -> Outcome:
    table = study.table(statement.exhibit)
    rows = table.of(**statement.where)
    if not rows:
        return Outcome(statement, "", table.notes[-1] if not table.rows else "no row is about it")
    numbers, refused = TESTS[statement.test](statement, rows, table, study.plan.limits.least_statement)
    if not refused and statement.scope == "tracker" and not study.frame.census:
        refused = f"{study.frame.words}; what was collected decides it"
    return Outcome(statement, numbers, refused)


def _few(n: int, least: int) -> str:
    return f"{n} items, {least} are needed" if n < least else ""


def _first(_: Statement, rows: Sequence[Row], __: Table, least: int) -> tuple[str, str]:
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


def _more(_: Statement, rows: Sequence[Row], __: Table, least: int) -> tuple[str, str]:
    row = rows[0]
    numbers = f"{row['k']} of {row['n']} before, {row['later_k']} of {row['later_n']} after"
    if row["difference"] is None:
        return numbers, _few(min(row["n"], row["later_n"]), least)
    low, high = row["difference_low"], row["difference_high"]
    numbers += f": {row['difference']:+.1f} points [{low:+.1f}, {high:+.1f}]"
    return numbers, "" if low > 0 else "the interval of the difference reaches 0 or below"


def _share(_: Statement, rows: Sequence[Row], __: Table, least: int) -> tuple[str, str]:
    row = rows[0]
    spread = f" ({row['share']:.0f} % [{row['low']:.0f}, {row['high']:.0f}])" if row["share"] is not None else ""
    return f"{row['k']} of {row['n']}{spread}, on {row['release']}", _few(int(row["n"]), least)


def _median(_: Statement, rows: Sequence[Row], table: Table, least: int) -> tuple[str, str]:
    row = rows[0]
    if row["median_days"] is None:
        numbers = f"{row[table.exhibit.event]} of {row['n']} {table.exhibit.event}"
        return numbers, _few(int(row["n"]), least) or "half of them are not through"
    high = "open" if row["high"] is None else f"{row['high']:.0f}"
    low = "open" if row["low"] is None else f"{row['low']:.0f}"
    return f"{row['median_days']:.0f} days [{low}, {high}], {row['n']} bugs", _few(int(row["n"]), least)


def _differ(_: Statement, __: Sequence[Row], table: Table, ___: int) -> tuple[str, str]:
    p = table.facts.get("p")
    if p is None:
        return "", next((note for note in table.notes if note.startswith("no test")), "no test of the groups")
    return f"log-rank test, p = {p:.2g}", "" if p < ALPHA else "chance alone makes such differences"


def _agree(statement: Statement, rows: Sequence[Row], __: Table, least: int) -> tuple[str, str]:
    row = min(rows, key=lambda r: float(r["low"]))
    numbers = f"kappa {row['kappa']:.2f} [{row['low']:.2f}, {row['high']:.2f}] on {row['n']} items"
    low = "" if row["low"] >= statement.least else f"the lower limit is below {statement.least}"
    return numbers, _few(int(row["n"]), least) or low


TESTS: dict[str, Callable[[Statement, Sequence[Row], Table, int], tuple[str, str]]] = {
    "first": _first,
    "more": _more,
    "share": _share,
    "median": _median,
    "differ": _differ,
    "agree": _agree,
}
"""Each returns the numbers in words, and why they do not carry the statement (empty where they do)."""
