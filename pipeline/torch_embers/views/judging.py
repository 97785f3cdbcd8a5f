"""`embers data judge`: what a person says of a report's script is kept beside the database, and counts from then on."""

from __future__ import annotations

import getpass
import re
from typing import TYPE_CHECKING

from torch_embers import judgements
from torch_embers.errors import InputError
from torch_embers.normalize import now_utc
from torch_embers.store.append_only import append
from torch_embers.timeline import update_timelines
from torch_embers.timeline.item_script import of_report
from torch_embers.timeline.model import GAPS

if TYPE_CHECKING:
    from collections.abc import Mapping

    import duckdb

    from torch_embers.judgements import Judgement
    from torch_embers.store.store import Store

_SEGMENTS = """
SELECT versions, ending FROM timelines WHERE repo = $repo AND number = $number AND script = $script
QUALIFY provenance = 'own' OR NOT bool_or(provenance = 'own') OVER () ORDER BY environment, place
"""
_PRINTABLE = re.compile(r"[^\w.-]+")


def judge(
    store: Store,
    repo: str,
    number: int,
    given: Mapping[str, str | None],
    reason: str,
    *,
    on: str | None = None,
    reader: str | None = None,
) -> list[Judgement]:
    """Write what a reader says of the script of a report to the file beside the database, and let it count.

    Args:
        store: the database.
        repo: of the report.
        number: of the report.
        given: answers by question (``right_script``, ``match``, ``script_relation``); None where nothing is said.
        reason: in the reader's words.
        on: release whose behaviour ``match`` speaks of; None for the newest.
        reader: name; None for that of the account.

    Returns:
        The rows that were written.

    Raises:
        InputError: nothing is said, the report has no script, or the release is none of its timeline.
        StoreError: the file cannot be written.
    """
    if repo != judgements.REPO:
        raise InputError(f"judgements are of {judgements.REPO}, not of {repo}")
    said = {question: answer for question, answer in given.items() if answer is not None}
    if not said:
        raise InputError("nothing is said: give --right-script, --match or --relation")
    with store.read() as connection:
        script = of_report(connection, repo, number).script.hash
        version = _version(connection, repo, number, script, on) if "match" in said else None
    facts = {"script": script, "version": version} if version else {"script": script}
    common = {
        "subject": f"script:{number}",
        "item": number,
        "reader": f"human:{reader or _account()}",
        "blind": False,
        "day": now_utc()[:10],
        "reason": reason,
        "facts": facts,
    }
    rows = [judgements.judged(common | {"question": question, "answer": answer}) for question, answer in said.items()]
    path = store.path.with_name(judgements.OWN_FILE)
    judgements.own_rows(path)  # a wrong line would keep this one from being read
    with store.writer("judge") as writer:
        append(path, b"".join(row.line().encode() + b"\n" for row in rows))
        update_timelines.refresh(writer, [(repo, number)])
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
