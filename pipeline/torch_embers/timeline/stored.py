"""Timelines in the database, own and shipped ones; the shipped file analysis/results/timelines.csv."""

from __future__ import annotations

import csv
import io
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from torch_embers import resources
from torch_embers.cases.shipped_verdicts import environment_row
from torch_embers.errors import InputError
from torch_embers.escaping import csv_cell, unguarded
from torch_embers.settings import DEFAULT_REPO
from torch_embers.store import rows
from torch_embers.timeline.model import Segment, Timeline

if TYPE_CHECKING:
    from pathlib import Path

    import duckdb

FILE = ("results", "timelines.csv")
SHIPPED = "shipped"
COLUMNS = ("number", "script", "device", "versions", "ending", "what", "match", "flip", "at_fix", "runs", "confirmed",
           "environment", "day")  # fmt: skip
"""Columns of the shipped file, a row per segment in order: no text of a report and nothing that a run printed."""
_ROWS = """
SELECT t.repo, t.number, t.script, t.environment, coalesce(t.device, s.device, ''), t.provenance,
       t.versions, t.ending, t.what, t.shown, t.runs, t.confirmed, t.match, t.evidence, t.flip, t.at_fix
FROM current_timelines t LEFT JOIN scripts s USING (repo, number, script)
WHERE $repo IS NULL OR t.repo = $repo AND t.number = $number
ORDER BY t.repo, t.number, t.place
"""
_WRITTEN = """
SELECT t.number, t.script, t.device, array_to_string(t.versions, ' '), t.ending, t.what, t.match, t.flip,
       t.at_fix::VARCHAR, t.runs, t.confirmed::VARCHAR,
       concat_ws(', ', e.device, e.processor, e.capability, e.system), strftime(t.decided_at, '%Y-%m-%d')
FROM timelines t JOIN environments e USING (environment)
WHERE t.repo = ? AND t.provenance = 'own' ORDER BY t.number, t.script, t.environment, t.place
"""


def timeline_of(connection: duckdb.DuckDBPyConnection, repo: str, number: int) -> Timeline | None:
    """The timeline of an item's script; None where there is none."""
    found = _read(connection, repo, number)
    return found[0] if found else None


def timelines(connection: duckdb.DuckDBPyConnection) -> list[Timeline]:
    """All timelines, one per item, in order of repository and number."""
    return _read(connection, None, None)


def _read(connection: duckdb.DuckDBPyConnection, repo: str | None, number: int | None) -> list[Timeline]:
    found = connection.execute(_ROWS, {"repo": repo, "number": number}).fetchall()
    made = []
    for (name, item, script, environment, device, provenance), group in groupby(found, key=lambda row: row[:6]):
        segments = tuple(Segment(tuple(row[6]), *row[7:]) for row in group)
        made.append(Timeline(name, item, script, environment, segments, device, provenance))
    return made


def write(connection: duckdb.DuckDBPyConnection, path: Path) -> int:
    """Write the own timelines of a database as the shipped file; return how many rows.

    Raises:
        OSError: the file cannot be written.
    """
    found = connection.execute(_WRITTEN, [DEFAULT_REPO]).fetchall()
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows([csv_cell(cell) for cell in row] for row in found)
    return len(found)


def load(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the shipped timelines of the database those of this embers; own ones stay, and go before them.

    Args:
        connection: in a transaction of the writer.

    Raises:
        InputError: the file is missing or malformed.
    """
    name = f"analysis/{'/'.join(FILE)}"
    lines = list(csv.DictReader(io.StringIO(resources.analysis_text(*FILE))))
    made, places = [], {}
    try:
        for _, own in groupby(lines, key=itemgetter("number", "script", "environment")):
            for place, line in enumerate(own):
                at = environment_row(line["environment"])
                places[at["environment"]] = at | {"seen_at": line["day"]}
                made.append(_row(line, at["environment"], place))
    except (KeyError, ValueError, AttributeError) as error:
        raise InputError(f"{name}: {error!r}; take this file from the release again") from error
    connection.execute("DELETE FROM timelines WHERE provenance = ?", [SHIPPED])
    rows.append(connection, "timelines", made)
    rows.replace(connection, "environments", ("environment",), list(places.values()))


def _row(line: dict[str, str], environment: str, place: int) -> dict[str, Any]:
    said = {"true": True, "false": False}
    return {
        "repo": DEFAULT_REPO,
        "number": int(line["number"]),
        "script": line["script"],
        "environment": environment,
        "device": line["device"] or None,
        "place": place,
        "versions": line["versions"].split(),
        "ending": line["ending"],
        "what": unguarded(line["what"]),
        "shown": "",
        "runs": int(line["runs"]),
        "confirmed": said[line["confirmed"]],
        "match": line["match"] or None,
        "evidence": "",
        "flip": line["flip"] or None,
        "at_fix": said.get(line["at_fix"]),
        "provenance": SHIPPED,
        "decided_at": line["day"],
    }
