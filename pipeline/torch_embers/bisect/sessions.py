"""Steps of a bisection in the database: an interrupted one asks only what it has not asked."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from torch_embers.bisect.commits import Commit
from torch_embers.bisect.search import Reply
from torch_embers.normalize import now_utc
from torch_embers.store import rows
from torch_embers.verdicts.verdict import Control

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from torch_embers.bisect.commits import CommitRange
    from torch_embers.bisect.places import Place
    from torch_embers.bisect.replies import Asker
    from torch_embers.bisect.search import History
    from torch_embers.store.store import Store
    from torch_embers.store.writer import Writer

_LAST = "SELECT number, batch, started_at, finished_at FROM bisections WHERE session = ? ORDER BY number DESC LIMIT 1"
_STEPS = """
SELECT version, answer, k, n, confidence, detail, asked_at FROM bisection_steps
WHERE session = ? AND number = ? ORDER BY asked_at, batch
"""


@dataclass(frozen=True, slots=True)
class Session:
    """One bisection in the database.

    Attributes:
        number: its place among those with the same key.
        batch: number of the batches that ``--fresh`` began.
        started_at: when it began (UTC, naive).
        replies: by version, what was answered, in the order of asking.
    """

    key: str
    number: int
    batch: int
    started_at: datetime
    replies: dict[str, list[Reply]]

    @property
    def control(self) -> Control | None:
        """The first stored build that shows the bug: its runs measured how often."""
        shown = ((version, one) for version, asked in self.replies.items() for one in asked if one.answer == "yes")
        return next((Control("build", version, one.hits, one.runs) for version, one in shown), None)


def key_of(parts: Iterable[object]) -> str:
    """The key of all that decides what a bisection finds."""
    digest = blake2b(digest_size=16)
    for part in parts:
        digest.update(repr(part).encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()


def begun(store: Store, writer: Writer, key: str, subject: str, batch: int, *, fresh: bool) -> Session:
    """The bisection to go on with: the last one of this key, or a new one.

    Args:
        store: the database.
        writer: the writer that is held.
        key: of ``key_of``.
        subject: what is searched, for people.
        batch: number for the batches of a new one.
        fresh: begin a new one where the last has finished.
    """
    replies: dict[str, list[Reply]] = defaultdict(list)
    with store.read() as connection:
        last = connection.execute(_LAST, [key]).fetchone()
        if last is not None and not (fresh and last[3] is not None):
            for version, answer, k, n, confidence, detail, at in connection.execute(_STEPS, [key, last[0]]).fetchall():
                replies[version].append(Reply(answer, k, n, confidence, detail, asked_on=f"{at:%Y-%m-%d}"))
            return Session(key, last[0], last[1], last[2], replies)
    number = 0 if last is None else last[0] + 1
    row = {"session": key, "number": number, "subject": subject, "batch": batch, "started_at": now_utc()}
    with writer.transaction() as connection:
        rows.append(connection, "bisections", [row])
        [(started,)] = connection.execute(
            "SELECT started_at FROM bisections WHERE session = ? AND number = ?", [key, number]
        ).fetchall()
    return Session(key, number, batch, started, replies)


class Remembering:
    """Asks what the session has not asked yet, and writes each reply before the next question."""

    def __init__(self, session: Session, writer: Writer, places: Sequence[Place], ask: Asker) -> None:
        self._session, self._writer, self._places, self._ask = session, writer, places, ask
        self._asked: dict[int, int] = defaultdict(int)

    def __call__(self, place: int, /) -> Reply:
        """Return the stored reply, else ask; a second batch is never one of stored runs."""
        batch, version = self._asked[place], self._places[place].version
        self._asked[place] += 1
        stored = self._session.replies.get(version, [])
        if batch < len(stored):
            return stored[batch]
        reply = self._ask(place, fresh=batch > 0)
        if not reply.ran:  # what is installed later is asked then
            return reply
        row = {
            "session": self._session.key,
            "number": self._session.number,
            "version": version,
            "batch": batch,
            "answer": reply.answer,
            "k": reply.hits,
            "n": reply.runs,
            "confidence": reply.confidence,
            "detail": reply.detail,
            "asked_at": now_utc(),
        }
        with self._writer.transaction() as connection:
            rows.append(connection, "bisection_steps", [row])
        return reply


def finish(writer: Writer, session: Session, found: History, text: str) -> None:
    """Write the answer."""
    with writer.transaction() as connection:
        connection.execute(
            "UPDATE bisections SET finished_at = ?::TIMESTAMP, kind = ?, confidence = ?, text = ? "
            "WHERE session = ? AND number = ?",
            [now_utc(), found.kind, found.confidence, text, session.key, session.number],
        )


def keep_commits(writer: Writer, session: Session, found: CommitRange) -> None:
    """Write the commits of a bisection's last change, in place of those that were listed before."""
    own = {"session": session.key, "number": session.number}
    plain = TypeAdapter(tuple[Commit, ...]).dump_python(found.likeliest, mode="json")
    with writer.transaction() as connection:
        connection.execute(
            "UPDATE bisections SET commits_before = ?, commits_after = ?, commits_basis = ?, commits_total = ? "
            "WHERE session = ? AND number = ?",
            [found.before, found.after, found.basis, found.total, *own.values()],
        )
        connection.execute("DELETE FROM bisection_commits WHERE session = ? AND number = ?", [*own.values()])
        rows.append(connection, "bisection_commits", [{**own, "place": n, **row} for n, row in enumerate(plain)])
