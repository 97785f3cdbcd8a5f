"""The claims with their verdicts as rows: for the terminal, for CSV and JSON files, and for docs/claims.md."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from torch_embers.study import result_files
from torch_embers.study.claims.verdicts import VERDICTS, number

if TYPE_CHECKING:
    from pathlib import Path

    from torch_embers.study.claims.verdicts import ClaimsReport, Result

COLUMNS = ("claim", "printed", "ours", "verdict", "why", "consistency")
NO_FIGURE = "no figure"
BASES = ("database", "paper", "known", "geometry", NO_FIGURE)
"""What a figure of ours rests on."""


def printed(result: Result) -> str:
    """The printed number with its unit."""
    claim = result.claim
    comma = "," if abs(claim.value) >= 10_000 else ""
    unit = "" if claim.unit == "year" else f" {claim.unit}"
    return f"{claim.value:{comma}.{claim.places}f}{unit}"


def ours(result: Result, *, selected: bool) -> str:
    """Our figure: a share with its counts and 95 % interval; `selected` where it is of a selected sample."""
    figure, claim = result.ours, result.claim
    if figure is None:
        return "-"
    if figure.n is not None:
        text = f"{figure.k} of {figure.n}: {figure.value:.1f} % [{figure.low:.1f}, {figure.high:.1f}]"
    else:
        text = f"{number(round(figure.value, 2))}{' %' if claim.unit == '%' else ''}"
        if claim.rule == "upper_bound":
            text = f"at most {text}"
        elif claim.rule in ("lower_bound", "shown") and selected:
            text = f"at least {text}"
    of_database = "selected" if selected else "database"
    words = {"known": claim.source, "database": of_database, "paper": "printed numbers"}
    return f"{text}, {words.get(figure.basis, figure.basis)}"


def consistency(result: Result) -> str:
    """What the checks found: failed ones in full, else that all hold."""
    if result.claim.failed:
        return "; ".join(dict.fromkeys(check.text for check in result.claim.failed))
    held = len(result.claim.checks)
    return {0: "nothing to check it against", 1: "1 check holds"}.get(held, f"{held} checks hold")


def rows(report: ClaimsReport) -> list[tuple[str, ...]]:
    """One row per claim, as in COLUMNS; where a check decided a verdict, it stands in the last column alone."""
    table: list[tuple[str, ...]] = []
    for r in report.results:
        why = "impossible, see consistency" if r.why.startswith("impossible") else r.why
        figure = ours(r, selected=not report.frame.census)
        table.append((r.claim.id, printed(r), figure, r.verdict, why, consistency(r)))
    return table


def record(result: Result, report: ClaimsReport) -> dict[str, Any]:
    """A claim with everything about it, as plain values."""
    claim = result.claim
    figure = asdict(result.ours) if result.ours else {}
    return {
        **claim.model_dump(include={"id", "section", "place", "states", "explains", "kind"}),
        "printed": claim.value,
        "decimals": claim.places,
        "unit": claim.unit,
        "ours": figure.get("value"),
        **{name: figure.get(name) for name in ("k", "n", "low", "high", "basis")},
        "query": claim.query,
        "source": claim.source or None,
        "selected": figure.get("basis") == "database" and not report.frame.census,
        "rule": claim.rule,
        "tolerance": claim.tolerance if claim.tolerance is not None else claim.half_unit,
        "verdict": result.verdict,
        "why": result.why,
        "missing": claim.missing or None,
        "consistent": not claim.failed if claim.checks else None,
        "checks": [check.model_dump() for check in claim.checks],
    }


def write(report: ClaimsReport, folder: Path) -> tuple[Path, Path]:
    """Write claims.csv and claims.json; the same report gives the same bytes.

    Raises:
        InputError: the folder cannot be written to.
    """
    records = [record(result, report) for result in report.results]
    verdicts = {verdict: report.verdicts[verdict] for verdict in VERDICTS}
    whole = {"frame": report.frame.record, "verdicts": verdicts, "claims": records}
    rows = [{**row, "checks": consistency(result)} for row, result in zip(records, report.results, strict=True)]
    return (
        result_files.write(folder / "claims.csv", result_files.as_csv(rows)),
        result_files.write(folder / "claims.json", result_files.as_json(whole)),
    )


def by_basis(report: ClaimsReport) -> list[tuple[str, list[int]]]:
    """How many claims have each verdict, in the order of VERDICTS, by what our figure rests on."""
    table: list[tuple[str, list[int]]] = []
    for basis in BASES:
        verdicts = [r.verdict for r in report.results if (r.ours.basis if r.ours else NO_FIGURE) == basis]
        if verdicts:
            table.append((basis, [verdicts.count(verdict) for verdict in VERDICTS]))
    return table


def replicated(report: ClaimsReport) -> str:
    """What agreement means here: how much of it is arithmetic, and how much rests on data."""
    agreed = [r.ours.basis for r in report.results if r.verdict == "agrees" and r.ours]
    data = agreed.count("database")
    text = (
        f"{len(agreed) - data} of {len(agreed)} numbers that agree are arithmetic on printed numbers, facts from "
        f"elsewhere or geometry; {data} rest on this database"
    )
    if report.frame.census:
        return f"{text}."
    return f"{text}, a selected sample, in which cited threads are shown to exist. No empirical finding is replicated."
