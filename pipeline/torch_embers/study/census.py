"""The census of merges: what can be counted on the whole merged history, where one was mined.

A database of issues is a selection until the tracker was mined whole. The main line of a clone is complete for its
time: every change that was merged is in it. So shares of it are no shares of a selected sample, and what it does not
hold was not merged. How well links are found in its messages is measured in docs/history.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from torch_embers import packages, resources
from torch_embers.link.components import Components
from torch_embers.settings import DEFAULT_REPO
from torch_embers.statistics.intervals import wilson
from torch_embers.store.store import repository_of
from torch_embers.study import files, samples
from torch_embers.study.claims import claims_table, definitions, verdicts

if TYPE_CHECKING:
    from pathlib import Path

    import duckdb

    from torch_embers.store.store import Store

FOLDER = "census"
TABLES = ("numbers", "figure_4", "reverts")
SELECTED = ", selected"
"""What stands behind a figure of a selected sample."""
SCOPES = ("data path", "strict data path")
MARK = "census"
"""What the column ``population`` says in each row, so that no row is taken for one of the tracker's sample."""

DIRECT = ("patches", "lines")
"""Marks of claims (`census` in data/claims.toml) whose own query counts on the history: its patches, its tags."""
LEADING = ("nested", "dtensor")
"""The parts that the paper says get the most patches."""


@dataclass(frozen=True, slots=True)
class Census:
    """Counts with their population."""

    population: dict[str, Any]
    tables: dict[str, list[dict[str, Any]]]
    claims: list[dict[str, Any]]


def of_store(store: Store) -> Census | None:
    """Count the merged history of a database; ``None`` where it holds none.

    Raises:
        InputError: a query or a data file is malformed.
        StoreError: the database cannot be read.
    """
    with store.read() as connection:
        return count(connection)


def count(connection: duckdb.DuckDBPyConnection) -> Census | None:
    """Count on an open database; it is only read."""
    first = samples.load().paper.first
    connection.register("census_parts", _parts(connection))
    given = {"repo": repository_of(connection), "first": first}
    for statement in connection.extract_statements(resources.analysis_text(FOLDER, "merges.sql")):
        connection.execute(statement, given if "$repo" in statement.query else None)
    query = "SELECT count(*), min(committed_at)::DATE::VARCHAR, max(committed_at)::DATE::VARCHAR FROM census_merges"
    [(merges, begins, ends)] = connection.execute(query).fetchall()
    if not merges:
        return None
    population = {
        "what": "every commit of the main line (source git)",
        "repo": given["repo"],
        "first": begins,
        "last": ends,
        "merges": merges,
    }
    tables = {name: [_with_share(row) for row in _rows(connection, name)] for name in TABLES}
    claims = _claims(connection, tables["numbers"], ends) if given["repo"] == DEFAULT_REPO else []
    return Census(population, tables, claims)


def _parts(connection: duckdb.DuckDBPyConnection) -> pa.Table:
    """The part of each path that has one."""
    parts = Components.load()
    paths = connection.execute("SELECT DISTINCT path FROM commit_files").fetchall()
    rows = [{"path": path} | part._asdict() for (path,) in paths if (part := parts.by_path(path))]
    text = pa.string()
    schema = pa.schema({"path": text, "component": text, "subcomponent": text, "strict": pa.bool_()})
    return pa.Table.from_pylist(rows, schema)


def _rows(connection: duckdb.DuckDBPyConnection, name: str) -> list[dict[str, Any]]:
    cursor = connection.execute(resources.analysis_text(FOLDER, f"{name}.sql"))
    columns = [str(column[0]) for column in cursor.description or ()]
    return [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]


def _with_share(row: dict[str, Any]) -> dict[str, Any]:
    """A row with its share and 95 % interval where ``n`` says of what, and the mark of the population."""
    marked = {"population": MARK} | row
    if "n" in row:
        share = low = high = None
        if row["n"]:
            low, high = (round(bound, 4) for bound in wilson(row["k"], row["n"]))
            share = round(row["k"] / row["n"], 4)
        marked |= {"share": share, "low": low, "high": high}
    return marked


def _claims(connection: duckdb.DuckDBPyConnection, numbers: list[dict[str, Any]], ends: str) -> list[dict[str, Any]]:
    """The claims that data/claims.toml marks as `census`; labels and states are still the tracker's."""
    paper = definitions.load()
    leaders = _rows(connection, "leaders")
    report = verdicts.evaluate(connection, paper)
    decided = [
        {"population": MARK, **dict(zip(claims_table.COLUMNS, row, strict=True))}
        for result, row in zip(report.results, claims_table.rows(report), strict=True)
        if result.claim.census in DIRECT and (result.verdict != "cannot_be_compared" or _is_counted(result))
    ]
    lines = {result.claim.id for result in report.results if result.claim.census == "lines"}
    for row in decided:
        if row["claim"] in lines:  # a release tag holds all lines, whatever issues were selected
            row["ours"] = str(row["ours"]).removesuffix(SELECTED)
    counted = {row["measure"]: row for row in numbers}
    for result in report.results:
        if result.claim.census == "majority":
            rows = {which: counted[f"patches of the {which} among patches of either"] for which in SCOPES}
            decided += [_majority(result, row, which) for which, row in rows.items() if row["n"]]
        elif result.claim.census == "leaders" and leaders:
            decided.append(_leaders(result, leaders, ends))
    return decided


def _is_counted(result: verdicts.Result) -> bool:
    """Whether the history gives a number, and only how the paper counted is missing."""
    return result.ours is not None and bool(result.claim.definition) and result.claim.definition in result.why


def _leaders(result: verdicts.Result, leaders: list[dict[str, Any]], ends: str) -> dict[str, Any]:
    """The claim that two parts lead, by their ranks; decided only by a history of the paper's whole time."""
    ranks = {row["subcomponent"]: row for row in leaders}
    places = [ranks[part]["by_merges"] if part in ranks else len(leaders) + 1 for part in LEADING]
    shown = ", ".join(f"{part} {place}" for part, place in zip(LEADING, places, strict=True))
    first = leaders[0]["subcomponent"]
    shown = f"rank of {len(leaders)} parts by merges from July 2022 to {ends}: {shown}; first is {first}"
    whole = ends >= samples.load().paper.last.isoformat()
    agrees = max(places) <= result.claim.value
    verdict = ("agrees" if agrees else "differs") if whole else "cannot_be_compared"
    why = "ranks by merges" if whole else f"missing: {result.claim.missing}"
    values = (claims_table.printed(result), shown, verdict, why, claims_table.consistency(result))
    return {"population": MARK, **dict(zip(claims_table.COLUMNS, (result.claim.id, *values), strict=True))}


def _majority(result: verdicts.Result, row: dict[str, Any], which: str) -> dict[str, Any]:
    """The claim that the data path has more bugs than computation, on all patches that touch one of both alone."""
    share, low, high = (100 * row[name] for name in ("share", "low", "high"))
    ours = verdicts.Ours(share, MARK, row["k"], row["n"], low, high)
    whole = verdicts.Frame(row["n"], row["n"], census=True)
    made = verdicts.decide(result.claim, ours, result.checks, whole, labelled=0.0)
    shown = f"{row['k']} of {row['n']}: {share:.1f} % [{low:.1f}, {high:.1f}], patches, {which}"
    values = (claims_table.printed(made), shown, made.verdict, made.why, claims_table.consistency(made))
    return {"population": MARK, **dict(zip(claims_table.COLUMNS, (result.claim.id, *values), strict=True))}


def write(census: Census, folder: Path) -> list[Path]:
    """Write census/NAME.csv for each table and the claims, and census.json with the population.

    Raises:
        InputError: the folder cannot be written to.
    """
    place = folder / FOLDER
    tables = census.tables | {"claims": census.claims}
    paths = [files.write(place / f"{name}.csv", files.as_csv(rows)) for name, rows in tables.items()]
    return [*paths, files.write(place / "census.json", files.as_json({"population": census.population}))]


def draw(census: Census, folder: Path) -> list[Path]:
    """Draw census/figure_4.svg and .png: patches of every merge by part of the data path and half year.

    Raises:
        InputError: Matplotlib is not installed, or the folder cannot be written to.
    """
    packages.require("study", "pictures need")
    from torch_embers.study.figures.pictures import stacks

    return list(stacks.write_census(census.tables["figure_4"], census.population, folder / FOLDER))
