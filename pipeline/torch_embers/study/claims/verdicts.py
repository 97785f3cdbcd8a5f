"""The claims of the study against a database: our figure and a verdict for each."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import duckdb

from torch_embers import resources
from torch_embers.errors import InputError
from torch_embers.statistics import intervals
from torch_embers.store import rows
from torch_embers.study import samples

if TYPE_CHECKING:
    from torch_embers.study.claims.definitions import Claim, PaperClaims

VERDICTS = ("agrees", "differs", "cannot_be_compared")
FOLDER = "claims"
ROUNDING = 1e-9
"""Binary fractions are a little off the decimal ones that are printed."""


@dataclass(frozen=True, slots=True)
class TrackerCoverage:
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

    @property
    def record(self) -> dict[str, int | bool]:
        """The frame as it stands in files."""
        return {"known": self.known, "numbers": self.numbers, "census": self.census}


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


@dataclass(frozen=True, slots=True)
class ClaimsReport:
    """All claims against one database."""

    results: tuple[Result, ...]
    frame: TrackerCoverage

    @property
    def verdicts(self) -> Counter[str]:
        """How many claims have each verdict."""
        return Counter(result.verdict for result in self.results)


def number(value: float) -> str:
    """A number in a sentence: no more digits than it needs, and years without a comma."""
    if value == int(value):
        return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.0f}"
    return f"{value:.4g}" if abs(value) >= 0.001 else f"{value:.6f}".rstrip("0")


def decide(claim: Claim, ours: Ours | None, frame: TrackerCoverage, labelled: float) -> Result:
    """Decide the verdict of a claim. Pure.

    Args:
        claim: the claim.
        ours: our figure, or None where there is none.
        frame: how much of the tracker our figure rests on.
        labelled: least share of a sample that must be labelled for a share of it to be compared.
    """
    impossible = next((check for check in claim.failed if check.decides), None)
    if impossible is not None:
        return Result(claim, ours, "differs", f"impossible: {impossible.text}")
    if ours is None or claim.rule == "none":
        return Result(claim, ours, "cannot_be_compared", f"missing: {claim.missing}")
    verdict, why = _compared(claim, ours, frame, labelled)
    # what would tell a wrong number from two that do not go together, or from another way of counting
    missing = "which of the printed numbers is meant" if ours.basis == "paper" else claim.definition
    if verdict == "differs" and missing:
        verdict, why = "cannot_be_compared", f"missing: {missing}; {why}"
    return Result(claim, ours, verdict, why)


def _compared(claim: Claim, ours: Ours, frame: TrackerCoverage, labelled: float) -> tuple[str, str]:
    undecided = "cannot_be_compared"
    if claim.rule == "equal" or (frame.census and claim.rule == "lower_bound"):
        tolerance = claim.tolerance if claim.tolerance is not None else claim.half_unit
        if abs(ours.value - claim.value) > tolerance + ROUNDING:
            return "differs", _distance(claim, ours)
        return "agrees", f"within {number(tolerance)} {claim.unit}" if claim.tolerance else "as printed"
    if claim.rule == "lower_bound":
        if ours.value > claim.value:
            return "differs", f"even this selected sample holds {number(ours.value)}"
        return undecided, f"missing: {claim.missing}; the {number(ours.value)} here are only a lower bound"
    if claim.rule == "upper_bound":
        if claim.value > ours.value:
            return "differs", f"there can be at most {number(ours.value)}"
        return undecided, f"missing: {claim.missing}; up to {number(ours.value)} are possible"
    if claim.rule == "shown":
        if ours.value >= claim.value:
            return "agrees", "every one of them is in the database"
        return ("differs", _distance(claim, ours)) if frame.census else (undecided, f"missing: {claim.missing}")
    return _share(claim, ours, frame, labelled)


def _share(claim: Claim, ours: Ours, frame: TrackerCoverage, labelled: float) -> tuple[str, str]:
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
    half = claim.half_unit
    inside = (ours.low or 0.0) - half <= claim.value <= (ours.high or 0.0) + half
    return ("agrees" if inside else "differs"), f"{'inside' if inside else 'outside'} the 95 % interval"


def _distance(claim: Claim, ours: Ours) -> str:
    return f"{number(claim.value)} printed, {number(ours.value)} by us"


def _queried(connection: duckdb.DuckDBPyConnection, claim: Claim) -> Ours | None:
    try:
        query = resources.analysis_text(FOLDER, f"{claim.query}.sql")
        row = next(iter(rows.mappings(connection, query, claim.parameters or None)), {})
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


def figure(connection: duckdb.DuckDBPyConnection, claim: Claim) -> Ours | None:
    """Our figure for a claim, or None where there is no data for one.

    Raises:
        InputError: its query is malformed.
    """
    if claim.query:
        return _queried(connection, claim)
    return Ours(float(claim.ours), claim.basis) if claim.ours is not None and claim.basis else None


def frame(connection: duckdb.DuckDBPyConnection, census: float) -> TrackerCoverage:
    """How much of the tracker the database holds, up to the end of the time that was prepared (samples.at)."""
    known, numbers, until = connection.execute(resources.analysis_text(FOLDER, "frame.sql")).fetchall()[0]
    return TrackerCoverage(known, numbers, bool(numbers) and known / numbers >= census, f"{until:%B %Y}")


def prepare(connection: duckdb.DuckDBPyConnection, paper: PaperClaims) -> None:
    """Make the temporary tables of the study's own time and of the references that the queries stand on."""
    samples.at(connection, samples.load().paper)
    references = [(reference.ref, reference.number) for reference in paper.references]
    samples.fill(connection, "study_references", "ref INTEGER, number INTEGER", references)


def evaluate(connection: duckdb.DuckDBPyConnection, paper: PaperClaims) -> ClaimsReport:
    """Decide all claims on an open database; it is only read.

    Raises:
        InputError: a query is malformed.
    """
    prepare(connection, paper)
    known = frame(connection, paper.limits.census)
    results = tuple(decide(claim, figure(connection, claim), known, paper.limits.labelled) for claim in paper.claims)
    return ClaimsReport(results, known)
