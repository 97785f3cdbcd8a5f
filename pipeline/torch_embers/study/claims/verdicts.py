"""The claims of the study against a database: our figure and a verdict for each."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import duckdb

from torch_embers import resources
from torch_embers.errors import InputError
from torch_embers.statistics import intervals
from torch_embers.study import samples
from torch_embers.study.claims import checks, definitions, formulas

if TYPE_CHECKING:
    from torch_embers.store.store import Store
    from torch_embers.study.claims.checks import CheckResult
    from torch_embers.study.claims.definitions import Claim, PaperClaims

VERDICTS = {
    "agrees": "our figure and the printed one agree under the claim's rule",
    "differs": "they do not, or the printed number is impossible by itself",
    "cannot_be_compared": "the data do not suffice for a comparison; the row names what is missing",
}
FOLDER = "claims"
ROUNDING = 1e-9
"""Binary fractions are a little off the decimal ones that are printed."""


@dataclass(frozen=True, slots=True)
class Frame:
    """How much of the tracker the database holds: known numbers of all numbers up to the end of the study's time."""

    known: int
    numbers: int
    census: bool
    until: str = "July 2024"

    @property
    def words(self) -> str:
        """The frame in words."""
        share = f"{self.known:,} of {self.numbers:,} numbers of the tracker up to {self.until}"
        return share if self.census else f"selected sample: {share}"


@dataclass(frozen=True, slots=True)
class Ours:
    """Our figure: a value in the unit of the claim; for a share also counts and interval, in percent."""

    value: float
    basis: str
    k: int | None = None
    n: int | None = None
    low: float | None = None
    high: float | None = None
    unlabelled: float = 0.0


@dataclass(frozen=True, slots=True)
class Result:
    """A claim with everything that was found about it."""

    claim: Claim
    ours: Ours | None
    verdict: str
    why: str
    checks: tuple[CheckResult, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """All claims against one database."""

    results: tuple[Result, ...]
    frame: Frame

    @property
    def verdicts(self) -> Counter[str]:
        """How many claims have each verdict."""
        return Counter(result.verdict for result in self.results)


def decide(claim: Claim, ours: Ours | None, checked: tuple[CheckResult, ...], frame: Frame, labelled: float) -> Result:
    """Decide the verdict of a claim. Pure.

    Args:
        claim: the claim.
        ours: our figure, or None where there is none.
        checked: results of its consistency checks.
        frame: how much of the tracker our figure rests on.
        labelled: least share of a sample that must be labelled for a share of it to be compared.
    """
    impossible = next((check for check in checks.failed(checked) if check.decides), None)
    if impossible is not None:
        return Result(claim, ours, "differs", f"impossible: {impossible.text}", checked)
    if ours is None or claim.rule == "none":
        return Result(claim, ours, "cannot_be_compared", f"missing: {claim.missing}", checked)
    verdict, why = _compared(claim, ours, frame, labelled)
    if verdict == "differs" and (missing := _undecidable(claim, ours)):
        verdict, why = "cannot_be_compared", f"missing: {missing}; {why}"
    return Result(claim, ours, verdict, why, checked)


def _undecidable(claim: Claim, ours: Ours) -> str:
    """What is missing to tell a wrong number from two that do not go together, or from another way of counting."""
    if ours.basis == "paper":
        return "which of the printed numbers is meant"
    return claim.definition


def _compared(claim: Claim, ours: Ours, frame: Frame, labelled: float) -> tuple[str, str]:
    undecided = "cannot_be_compared"
    if claim.rule == "equal" or (frame.census and claim.rule == "lower_bound"):
        tolerance = claim.tolerance if claim.tolerance is not None else float(claim.printed.half_unit)
        if abs(ours.value - claim.value) > tolerance + ROUNDING:
            return "differs", _distance(claim, ours)
        return "agrees", f"within {checks.number(tolerance)} {claim.unit}" if claim.tolerance else "as printed"
    if claim.rule == "lower_bound":
        if ours.value > claim.value:
            return "differs", f"even this selected sample holds {checks.number(ours.value)}"
        return undecided, f"missing: {claim.missing}; the {checks.number(ours.value)} here are only a lower bound"
    if claim.rule == "upper_bound":
        if claim.value > ours.value:
            return "differs", f"there can be at most {checks.number(ours.value)}"
        return undecided, f"missing: {claim.missing}; up to {checks.number(ours.value)} are possible"
    if claim.rule == "shown":
        if ours.value >= claim.value:
            return "agrees", "every one of them is in the database"
        return ("differs", _distance(claim, ours)) if frame.census else (undecided, f"missing: {claim.missing}")
    return _share(claim, ours, frame, labelled)


def _share(claim: Claim, ours: Ours, frame: Frame, labelled: float) -> tuple[str, str]:
    if not frame.census:
        return (
            "cannot_be_compared",
            f"missing: {claim.missing}; what was collected decides the share of a selected sample",
        )
    if 1 - ours.unlabelled < labelled:
        return "cannot_be_compared", f"missing: labels for {ours.unlabelled:.0%} of the sample"
    if claim.rule == "majority":
        more, less = (ours.low or 0.0) > claim.value, (ours.high or 100.0) < claim.value
        if not more and not less:
            return "cannot_be_compared", f"missing: {claim.missing}; the interval holds both more and less than half"
        return ("agrees" if more else "differs"), f"the 95 % interval lies {'above' if more else 'below'} half"
    half = float(claim.printed.half_unit)
    inside = (ours.low or 0.0) - half <= claim.value <= (ours.high or 0.0) + half
    return ("agrees" if inside else "differs"), f"{'inside' if inside else 'outside'} the 95 % interval"


def _distance(claim: Claim, ours: Ours) -> str:
    return f"{checks.number(claim.value)} printed, {checks.number(ours.value)} by us"


def _queried(connection: duckdb.DuckDBPyConnection, claim: Claim) -> Ours | None:
    try:
        cursor = connection.execute(resources.analysis_text(FOLDER, f"{claim.query}.sql"), claim.parameters or None)
        columns = [str(column[0]) for column in cursor.description or ()]
        row = dict(zip(columns, cursor.fetchone() or (), strict=False))
    except duckdb.Error as error:
        raise InputError(f"analysis/{FOLDER}/{claim.query}.sql (claim {claim.id!r}): {error}") from error
    k, n = row.get("k"), row.get("n")
    if k is None:
        return None
    if "n" not in row:
        return Ours(float(k), "database", k=int(k))
    if not n:
        return None
    low, high = intervals.wilson(int(k), int(n))
    rest = 1 - int(n) / int(row["sample_size"])
    return Ours(100 * k / n, "database", int(k), int(n), 100 * low, 100 * high, rest)


def figure(connection: duckdb.DuckDBPyConnection, paper: PaperClaims, claim: Claim) -> Ours | None:
    """Our figure for a claim, or None where there is no data for one.

    Raises:
        InputError: its query or formula is malformed.
    """
    if claim.query:
        return _queried(connection, claim)
    if claim.formula:
        geometric = claim.formula[0] in formulas.GEOMETRIC
        return Ours(formulas.compute(paper, claim.formula), "geometry" if geometric else "paper")
    if claim.classes:
        return Ours(float(formulas.classes(*claim.classes)), "paper")
    return None if claim.known is None else Ours(float(claim.known), "known")


def frame(connection: duckdb.DuckDBPyConnection, census: float) -> Frame:
    """How much of the tracker the database holds, up to the end of the time that was prepared (samples.at)."""
    known, numbers, until = connection.execute(resources.analysis_text(FOLDER, "frame.sql")).fetchall()[0]
    return Frame(known, numbers, bool(numbers) and known / numbers >= census, f"{until:%B %Y}")


def prepare(connection: duckdb.DuckDBPyConnection, paper: PaperClaims) -> None:
    """Make the temporary tables of the study's own time and of the references that the queries stand on."""
    samples.at(connection, samples.load().paper)
    connection.execute("CREATE OR REPLACE TEMP TABLE study_references (ref INTEGER, number INTEGER)")
    rows = [(reference.ref, reference.number) for reference in paper.references]
    connection.executemany("INSERT INTO study_references VALUES (?, ?)", rows)


def evaluate(connection: duckdb.DuckDBPyConnection, paper: PaperClaims) -> Report:
    """Decide all claims on an open database; it is only read.

    Raises:
        InputError: a claim, a query or a check is malformed.
    """
    prepare(connection, paper)
    known = frame(connection, paper.limits.census)
    results = tuple(
        decide(claim, figure(connection, paper, claim), checks.run(paper, claim), known, paper.limits.labelled)
        for claim in paper.claims
    )
    return Report(results, known)


def on_store(store: Store) -> Report:
    """Decide all claims on the database of a store.

    Raises:
        InputError: data/claims.toml is malformed.
        StoreError: the database cannot be read.
    """
    paper = definitions.load()
    with store.read() as connection:
        return evaluate(connection, paper)
