"""What a person and what oracles say of what a script does, and where it counts: in the rows of ``timelines``.

Nothing is found where the report quotes nothing, or quotes it in other words. `embers judge` writes what a reader found
to the file beside the database (``judgements.OWN_FILE``); `embers run N --oracle` keeps what oracles found in the
script. ``apply`` puts both into the rows, the reader's word last, so that statuses, labels, pages and tables need not
ask a second source.
"""

from __future__ import annotations

import getpass
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch_embers import judgements
from torch_embers.errors import InputError
from torch_embers.normalize import now_utc
from torch_embers.store.append_only import append
from torch_embers.timeline.item_script import of_report
from torch_embers.timeline.model import GAPS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import duckdb

    from torch_embers.judgements import Judgement, ScriptReading
    from torch_embers.store.store import Store

_ORACLES = """
UPDATE timelines t SET match = 'as_reported', evidence = o.evidence
FROM (
    SELECT r.case_hash AS script, split_part(b.version, '+', 1) AS version,
        'the ' || min(f.oracle) || ' oracle finds a mismatch in ' || arg_min(f.op, f.oracle) AS evidence
    FROM oracle_runs r JOIN oracle_findings f USING (run) JOIN builds b USING (build) GROUP BY ALL
) o
WHERE t.script = o.script AND t.match = 'other' AND list_contains(t.versions, o.version)
"""
_SILENCE = "UPDATE timelines SET match = NULL, evidence = '' WHERE repo = ? AND number = ? AND script = ?"
_DECIDE = """
UPDATE timelines SET match = $match, evidence = $evidence
WHERE repo = $repo AND number = $number AND script = $script AND list_contains(versions, $version)
"""
_SEGMENTS = """
SELECT versions, ending FROM timelines WHERE repo = $repo AND number = $number AND script = $script
QUALIFY provenance = 'own' OR NOT bool_or(provenance = 'own') OVER () ORDER BY environment, place
"""
_PRINTABLE = re.compile(r"[^\w.-]+")


@dataclass(frozen=True, slots=True)
class Answers:
    """What a reader says.

    Attributes:
        right_script: whether the script is the one that the report is about; None where that is not said.
        match: what a run shows; None where that is not said.
        relation: of the bug that it shows to that of the report; None where that is not said.
        on: release whose behaviour ``match`` speaks of; None for the newest.
        reason: in the reader's words.
        reader: name; None for that of the account.
    """

    right_script: str | None
    match: str | None
    relation: str | None
    on: str | None
    reason: str
    reader: str | None = None

    @property
    def given(self) -> Mapping[str, str]:
        """By question, what was answered."""
        asked = {"right_script": self.right_script, "match": self.match, "script_relation": self.relation}
        return {question: answer for question, answer in asked.items() if answer is not None}


def judge(store: Store, repo: str, number: int, answers: Answers) -> list[Judgement]:
    """Write what a reader says of the script of a report to the file beside the database, and let it count.

    Returns:
        The rows that were written.

    Raises:
        InputError: nothing is said, the report has no script, or the release is none of its timeline.
        StoreError: the file cannot be written.
    """
    if repo != judgements.REPO:
        raise InputError(f"judgements are of {judgements.REPO}, not of {repo}")
    if not answers.given:
        raise InputError("nothing is said: give --right-script, --match or --relation")
    with store.read() as connection:
        script = of_report(connection, repo, number).script.hash
        version = _version(connection, repo, number, script, answers.on) if answers.match else None
    facts = {"script": script, "version": version} if version else {"script": script}
    reader = answers.reader or _account()
    common = {
        "subject": f"script:{number}",
        "item": number,
        "reader": f"human:{reader}",
        "blind": False,
        "day": now_utc()[:10],
        "reason": answers.reason,
        "facts": facts,
    }
    rows = [judgements.judged(common | {"question": asked, "answer": said}) for asked, said in answers.given.items()]
    path = store.path.with_name(judgements.OWN_FILE)
    judgements.own_rows(path)  # a wrong line would keep this one from being read
    with store.writer("judge") as writer:
        append(path, b"".join(row.line().encode() + b"\n" for row in rows))
        with writer.transaction() as connection:
            apply(connection, store.path)
    return rows


def _account() -> str:
    try:
        return _PRINTABLE.sub("-", getpass.getuser())
    except (KeyError, OSError) as error:
        raise InputError("who judges? this account has no name: give --annotator NAME") from error


def _version(connection: duckdb.DuckDBPyConnection, repo: str, number: int, script: str, on: str | None) -> str:
    """The release whose behaviour is judged."""
    asked = {"repo": repo, "number": number, "script": script}
    known: list[tuple[list[str], str]] = connection.execute(_SEGMENTS, asked).fetchall()
    versions = [version for segment, ending in known if ending not in GAPS for version in segment]
    if not versions:
        raise InputError(f"nothing is known of what the script of #{number} does: `embers run {number}` runs it")
    if on is not None and on not in versions:
        raise InputError(f"--on {on}: the script of #{number} was run on {', '.join(versions)}")
    return on or versions[-1]


def apply(connection: duckdb.DuckDBPyConnection, database: Path) -> None:
    """Put what oracles found and what readers say into the rows of ``timelines``, in a transaction of the writer.

    Raises:
        InputError: a line of the readings is wrong.
    """
    connection.execute(_ORACLES)
    for reading in judgements.script_readings(database):
        place: dict[str, Any] = {"repo": judgements.REPO, "number": reading.number, "script": reading.script}
        if not reading.speaks_of_report:
            connection.execute(_SILENCE, list(place.values()))
        elif reading.match and reading.match != "unclear":
            said = {"match": reading.match, "evidence": f"judged by {_who(reading)}", "version": reading.version}
            connection.execute(_DECIDE, place | said)


def _who(reading: ScriptReading) -> str:
    kind, _, name = reading.reader.partition(":")
    return f"{'a person' if kind == 'human' else 'an automated reader'} ({name}, {reading.day})"
