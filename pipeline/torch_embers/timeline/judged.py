"""What a person and what oracles say of what a script does, and where it counts: in the rows of ``timelines``.

Nothing is found where the report quotes nothing, or quotes it in other words. `embers data judge` writes what a reader
found to the file beside the database (``judgements.OWN_FILE``); `embers run N --oracle` keeps what oracles found in the
script. ``apply`` puts both into the rows, the reader's word last, so that statuses, labels, pages and tables need not
ask a second source.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch_embers import judgements
from torch_embers.timeline.model import JUDGED

if TYPE_CHECKING:
    from pathlib import Path

    import duckdb

    from torch_embers.judgements import ScriptReading

_FOUND = """
SELECT r.case_hash AS script, split_part(b.version, '+', 1) AS version,
    'the ' || min(f.oracle) || ' oracle finds a mismatch in ' || arg_min(f.op, f.oracle) AS evidence
FROM oracle_runs r JOIN oracle_findings f USING (run) JOIN builds b USING (build) GROUP BY ALL
"""
_ORACLES = f"""
UPDATE timelines t SET match = 'as_reported', evidence = o.evidence FROM ({_FOUND}) o
WHERE t.script = o.script AND t.match = 'other' AND list_contains(t.versions, o.version)
"""
_SILENCE = "UPDATE timelines SET match = NULL, evidence = $4 WHERE repo = $1 AND number = $2 AND script = $3"
_DECIDE = """
UPDATE timelines SET match = $match, evidence = $evidence
WHERE repo = $repo AND number = $number AND script = $script AND list_contains(versions, $version)
    AND match IS DISTINCT FROM $match
"""


def apply(connection: duckdb.DuckDBPyConnection, database: Path) -> None:
    """Put what oracles found and what readers say into the rows of ``timelines``, in a transaction of the writer.

    Raises:
        InputError: a line of the readings is wrong.
    """
    connection.execute(_ORACLES)
    for reading in judgements.script_readings(database):
        place: dict[str, Any] = {"repo": judgements.REPO, "number": reading.number, "script": reading.script}
        if not reading.speaks_of_report:
            evidence = f"{JUDGED} {_who(reading)} to be about something other than the report"
            connection.execute(_SILENCE, [*place.values(), evidence])
        elif reading.match and reading.match != "unclear":
            said = {"match": reading.match, "evidence": f"{JUDGED} {_who(reading)}", "version": reading.version}
            connection.execute(_DECIDE, place | said)


def reported(connection: duckdb.DuckDBPyConnection, database: Path) -> set[tuple[str, str]]:
    """The scripts, with releases on which readers or oracles say that they show what was reported.

    Raises:
        InputError: a line of the readings is wrong.
    """
    found = {(script, version) for script, version, _ in connection.execute(_FOUND).fetchall()}
    readings = judgements.script_readings(database)
    return found | {(one.script, one.version) for one in readings if one.match == "as_reported"}


def _who(reading: ScriptReading) -> str:
    kind, _, name = reading.reader.partition(":")
    return f"{'a person' if kind == 'human' else 'an automated reader'} ({name}, {reading.day})"
