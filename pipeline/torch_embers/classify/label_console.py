"""The terminal side of active labelling: shows an item, reads keys, and keeps every answer at once.

Each answer goes first to a journal beside the database (``gold.jsonl``, append-only, one line an answer, flushed to the
disk), then, item by item, to the table ``gold_labels``. The journal is the original: it outlives the database, and what
the table lacks (a new database, a replay, a mine that held the lock) is brought in from it by ``restore``.
"""

from __future__ import annotations

import codecs
import errno
import fcntl
import math
import os
import re
from collections import Counter, defaultdict
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC
from typing import TYPE_CHECKING, Any, TextIO

import pyarrow as pa
from rich.text import Text

from torch_embers.classify import active
from torch_embers.classify.taxonomy import Taxonomy
from torch_embers.classify.text import clean
from torch_embers.console import plain
from torch_embers.errors import InputError, StoreBusyError, StoreError, StoreFullError
from torch_embers.mine.pages import clean_text, iso_utc, now_utc

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

    import duckdb
    from rich.console import Console

    from torch_embers.classify.active import Answer, Change, Entry, Key, Session
    from torch_embers.classify.taxonomy import ClassDef, Scheme
    from torch_embers.store.store import Store, Writer

JOURNAL = "gold.jsonl"
SOURCE = "label"
"""In ``gold_labels.source``: the row comes from a person at the terminal."""
PURPOSE = "embers label"
POOL = 2_000
"""Items that are ranked exactly; the database picks them by a rougher measure."""
PER_CLASS = 40
"""Most doubtful items of each class that the pool holds in any case, so that frequent classes cannot fill it."""
VOTE_WEIGHTS = {"human": 3.0, "execution": 3.0, "paper": 2.0, "automated": 2.0, "label": 1.0, "keyword": 0.5}
"""How much each kind of vote says beside the others: what ran or was read closely counts more than a word in a title.
They only order the questions; accuracies measured on gold are the business of the label model."""
NAME_CHARS, NOTE_CHARS = 60, 1_000
RAW_CHARS, THREAD_CHARS = 60_000, 60_000
"""What is shown of one item at most; a person decides long before."""
COMMENTS = 200
LEAST_LINES, PIPED_LINES, OTHER_LINES = 6, 30, 11
"""Lines of text shown at a time: at least, and where the output is no terminal; lines of all else but the classes."""

ENTER, ESCAPE, ERASE = ("\n", "\r", "\r\n"), "\x1b", ("\x7f", "\b")
END = ("\x04",)
"""Ctrl-D, which a terminal without line editing hands over as a character."""
ON, UP = (" ", "\x1b[B", "\x1b[6~"), ("-", "\x1b[A", "\x1b[5~")
_KEY = re.compile("\x1b\\[[0-9;?]{0,12}[@-~]|\x1bO[A-Z]|\r\n|.", re.DOTALL)
_INVISIBLE = dict.fromkeys((*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x206A), 0xFEFF))
"""Characters of no width or that turn the direction of writing: in a terminal they only hide or reorder."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What a session did."""

    annotator: str
    """Empty where nobody said who labels."""
    labelled: int
    """Items that got or changed answers."""
    answers: int
    """Answers given in this session that stand."""
    skipped: int
    left: int
    """Offered items that still have an open question."""
    waiting: int
    """Answers that are in the journal but not in the database yet, because somebody else was writing to it."""
    torn: int
    """Lines of the journal that could not be read; they are left as they are."""
    journal: Path
    finished: bool
    """All offered items have their answers."""


# ---- keys ----------------------------------------------------------------------------------------------------------


def split_keys(text: str) -> list[str]:
    """Split what a terminal sent into keys: characters, and escape sequences in one piece."""
    return _KEY.findall(text)


@contextmanager
def _unbuffered(descriptor: int) -> Iterator[None]:
    """A terminal that hands over each key at once and shows none; anything else as it is."""
    if not os.isatty(descriptor):
        yield
        return
    import termios
    import tty

    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor, termios.TCSADRAIN)  # what was typed early is kept
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def read_keys(stream: TextIO) -> Iterator[str]:
    """Keys from a terminal, a pipe or a file, until its end; the terminal is put back in order behind it.

    Close the iterator (or exhaust it) so that this happens at once.
    """
    try:
        descriptor = stream.fileno()
    except (OSError, ValueError):
        yield from split_keys(stream.read())
        return
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    with _unbuffered(descriptor):
        while chunk := _read(descriptor):
            yield from split_keys(decoder.decode(chunk))


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 4096)
    except OSError:
        # the terminal is gone: the same as its end
        return b""


# ---- the journal ---------------------------------------------------------------------------------------------------

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Journal:
    """The file that human labels are appended to."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @staticmethod
    def of(store: Store) -> Journal:
        """The journal beside a database."""
        return Journal(store.path.with_name(JOURNAL))

    def read(self) -> tuple[list[Entry], int]:
        """All entries, and the number of lines that are none.

        Raises:
            StoreError: the file is there but cannot be read.
        """
        try:
            with self.path.open("rb") as lines:
                return active.read_entries(lines)
        except FileNotFoundError:
            return [], 0
        except OSError as error:
            raise StoreError(f"{self.path} cannot be read: {error.strerror}") from error

    def append(self, entries: Sequence[Entry]) -> None:
        """Add entries, on the disk when this returns; all of them, or none.

        Raises:
            StoreFullError: no room. StoreError: the file cannot be written.
        """
        if not entries:
            return
        data = b"".join(map(active.entry_line, entries))
        try:
            descriptor = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise StoreError(f"{self.path} cannot be written: {error.strerror}") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            _append(descriptor, data)
        except OSError as error:
            kind = StoreFullError if error.errno in _NO_ROOM else StoreError
            raise kind(f"{self.path}: {error.strerror}: the last answer was not kept, all before it were") from error
        finally:
            os.close(descriptor)


def _append(descriptor: int, data: bytes) -> None:
    """Write at the end; a line that a crash tore is closed first, and what did not get in whole is taken out."""
    size = os.fstat(descriptor).st_size
    torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
    left = b"\n" + data if torn else data
    try:
        while left:
            left = left[os.write(descriptor, left) :]
        os.fsync(descriptor)
    except OSError:
        os.ftruncate(descriptor, size)
        raise


# ---- the table -----------------------------------------------------------------------------------------------------

_STAGE = {
    "repo": pa.string(),
    "number": pa.int32(),
    "scheme": pa.string(),
    "annotator": pa.string(),
    "value": pa.string(),
    "evidence": pa.string(),
    "labelled_at": pa.string(),
}
_REPLACE = (
    "DELETE FROM gold_labels g USING (SELECT DISTINCT repo, number, scheme, annotator FROM stage) s "
    "WHERE g.repo = s.repo AND g.number = s.number AND g.scheme = s.scheme AND g.annotator = s.annotator "
    f"AND g.annotator_kind = '{active.HUMAN}'",
    "INSERT INTO gold_labels "
    "(repo, number, scheme, value, annotator_kind, annotator, evidence, labelled_at, source, fetched_at) "
    f"SELECT repo, number, scheme, value, '{active.HUMAN}', annotator, evidence, labelled_at::TIMESTAMP, '{SOURCE}', "
    "labelled_at::TIMESTAMP FROM stage WHERE value IS NOT NULL",
)

Answers = dict[tuple[str, "Key", str], "Answer | None"]
"""(annotator, item, scheme) -> answer; ``None``: withdrawn."""


def put(writer: Writer, answers: Mapping[tuple[str, Key, str], Answer | None], notes: Mapping[Any, str]) -> None:
    """Write answers into ``gold_labels``, replacing what these annotators said to the same questions.

    Args:
        writer: holds the lock.
        answers: (annotator, item, scheme) -> answer, ``None`` to withdraw.
        notes: (annotator, item) -> note, kept as evidence.
    """
    if not answers:
        return
    rows = [row for key, answer in answers.items() for row in _rows(key, answer, notes)]
    columns = zip(*rows, strict=True)
    arrays = [pa.array(column, kind) for column, kind in zip(columns, _STAGE.values(), strict=True)]
    with writer.transaction() as connection:
        connection.register("stage", pa.table(arrays, names=list(_STAGE)))
        for statement in _REPLACE:
            connection.execute(statement)
        connection.unregister("stage")


def _rows(
    key: tuple[str, Key, str], answer: Answer | None, notes: Mapping[Any, str]
) -> Iterator[tuple[str | int | None, ...]]:
    annotator, item, scheme = key
    evidence = notes.get((annotator, item)) or None
    moment = answer.labelled_at if answer else None
    for value in (answer.values if answer else ()) or (None,):
        yield *item, scheme, annotator, value, evidence, moment


def restore(store: Store, writer: Writer | None = None) -> int:
    """Bring human labels that the journal has and the table lacks into the table, as after the loss of a database.

    Args:
        store: the database; its journal lies beside it.
        writer: where the lock is held already.

    Returns:
        Answers written.

    Raises:
        StoreError: no database, or another writer is at work.
    """
    told = active.fold(Journal.of(store).read()[0], Taxonomy.load())
    with store.read() as connection:
        late = _missing(connection, told)
    if late and writer is not None:
        put(writer, late, told.notes)
    elif late:
        with store.writer(PURPOSE) as own:
            put(own, late, told.notes)
    return len(late)


def _missing(connection: duckdb.DuckDBPyConnection, told: active.Told) -> Answers:
    """The journal's answers that the table does not show in just this way."""
    have: dict[tuple[str, Key, str], set[tuple[str, str | None]]] = defaultdict(set)
    for repo, number, scheme, annotator, value, evidence in connection.execute(
        "SELECT repo, number, scheme, annotator, value, evidence FROM gold_labels WHERE annotator_kind = ?",
        [active.HUMAN],
    ).fetchall():
        have[annotator, (repo, number), scheme].add((value, evidence))
    return {
        (annotator, item, scheme): answer
        for (annotator, item, scheme), answer in told.answers.items()
        if have.get((annotator, item, scheme), set())
        != {(value, told.notes.get((annotator, item)) or None) for value in (answer.values if answer else ())}
    }


def _table_answers(connection: duckdb.DuckDBPyConnection, annotator: str) -> dict[tuple[Key, str], Answer]:
    rows = connection.execute(
        "SELECT repo, number, scheme, list(value ORDER BY value), max(labelled_at) FROM gold_labels "
        "WHERE annotator_kind = ? AND annotator = ? GROUP BY ALL ORDER BY ALL",
        [active.HUMAN, annotator],
    ).fetchall()
    return {
        ((repo, number), scheme): active.Answer(tuple(values), _iso(moment) or now_utc())
        for repo, number, scheme, values, moment in rows
    }


def _iso(moment: datetime | None) -> str | None:
    return iso_utc(moment.replace(tzinfo=UTC).isoformat()) if moment else None


def foreign_name(store: Store, annotator: str) -> bool:
    """Whether labels of this name are of the paper or of an automated annotator."""
    with store.read() as connection:
        return bool(
            connection.execute(
                "SELECT 1 FROM gold_labels WHERE annotator = ? AND annotator_kind <> ? LIMIT 1",
                [annotator, active.HUMAN],
            ).fetchall()
        )


# ---- what to ask ---------------------------------------------------------------------------------------------------

_VOTES = """
    SELECT repo, number, scheme, value, kind FROM {weak_labels}
    UNION ALL
    SELECT repo, number, scheme, value, annotator_kind FROM gold_labels
    WHERE NOT (annotator_kind = 'human' AND annotator = $annotator)"""

_PICK = """
WITH votes AS ({votes}),
majority AS (
    SELECT repo, number, scheme, arg_max(value, (n, value)) AS value, max(n) / sum(n) AS share
    FROM (SELECT repo, number, scheme, value, count(*) AS n FROM votes GROUP BY ALL) GROUP BY ALL
), opinions AS (
    SELECT repo, number, scheme, coalesce(p.likeliest, v.value) AS value,
           CASE WHEN p.probability IS NULL OR isnan(p.probability) THEN 1 - v.share
                ELSE 1 - p.probability + CASE WHEN v.value <> p.likeliest THEN p.probability ELSE 0 END END AS doubt
    FROM {predictions} p FULL JOIN majority v USING (repo, number, scheme)
    WHERE scheme IN (SELECT unnest($schemes))
), placed AS (
    SELECT repo, number, doubt,
           row_number() OVER (PARTITION BY scheme, value ORDER BY doubt DESC, repo, number) AS place
    FROM opinions
), rough AS (
    SELECT repo, number, max(doubt) AS doubt, min(place) <= $per_class AS early FROM placed GROUP BY ALL
)
SELECT i.repo, i.number, i.title, coalesce(i.updated_at, i.created_at)
FROM items i LEFT JOIN rough r USING (repo, number)
WHERE i.deleted_at IS NULL AND i.transferred_to IS NULL AND trim(coalesce(i.title, '')) <> ''
  AND (i.kind IS DISTINCT FROM 'pull' OR (i.repo, i.number) IN (SELECT (repo, number) FROM gold_labels))
  AND i.repo || '#' || i.number NOT IN (SELECT unnest($done::VARCHAR[]))
ORDER BY i.repo || '#' || i.number IN (SELECT unnest($begun::VARCHAR[])) DESC, coalesce(r.early, false) DESC,
         r.doubt DESC NULLS LAST, coalesce(i.updated_at, i.created_at) DESC NULLS LAST, i.repo, i.number
LIMIT {pool}"""

_OPINIONS = """
WITH pool AS (SELECT unnest($repos::VARCHAR[]) AS repo, unnest($numbers::INTEGER[]) AS number), votes AS ({votes})
SELECT repo, number, scheme, likeliest AS value, probability AS weight, 'model' AS kind
FROM {predictions} SEMI JOIN pool USING (repo, number)
UNION ALL
SELECT repo, number, scheme, value, count(*)::DOUBLE, kind FROM votes SEMI JOIN pool USING (repo, number) GROUP BY ALL
ORDER BY ALL"""

_KNOWN = "SELECT scheme, value, count(DISTINCT (repo, number)) FROM gold_labels GROUP BY ALL"

_EMPTY = {
    "weak_labels": "(SELECT '' AS repo, 0 AS number, '' AS scheme, '' AS value, '' AS kind WHERE false)",
    "predictions": "(SELECT '' AS repo, 0 AS number, '' AS scheme, '' AS likeliest, 0.5::DOUBLE AS probability, "
    "false AS abstained WHERE false)",
}
"""What stands for a table that a database of an earlier release lacks."""


def _tables(connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    have = {name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
    return {name: name if name in have else empty for name, empty in _EMPTY.items()}


def _pick(
    store: Store,
    taxonomy: Taxonomy,
    schemes: Sequence[str],
    annotator: str,
    *,
    done: Iterable[Key],
    begun: Sequence[Key],
) -> list[Key]:
    """The items to ask about: those begun, as far as they exist, then the most informative; none that is done."""
    with store.read() as connection:
        names = _tables(connection)
        names["votes"] = _VOTES.format(**names)
        asked = {"annotator": annotator, "schemes": list(schemes), "per_class": PER_CLASS}
        lists = {"done": [f"{repo}#{number}" for repo, number in done], "begun": [f"{r}#{n}" for r, n in begun]}
        found = connection.execute(_PICK.format(**names, pool=POOL + len(begun)), asked | lists).fetchall()
        place = {"repos": [row[0] for row in found], "numbers": [row[1] for row in found], "annotator": annotator}
        said = connection.execute(_OPINIONS.format(**names), place).fetchall()
        known = connection.execute(_KNOWN).fetchall()
    opinions = _opinions(said, taxonomy, schemes)
    groups = _groups([row[2] for row in found])
    candidates = [
        active.Candidate(repo, number, opinions.get((repo, number), ()), group, _iso(changed) or "")
        for (repo, number, _, changed), group in zip(found, groups, strict=True)
    ]
    ranked = active.rank(candidates, {(scheme, value): count for scheme, value, count in known})
    keys = [(one.repo, one.number) for one in ranked]
    here = set(keys)
    return list(dict.fromkeys([*(item for item in begun if item in here), *keys]))


def _opinions(
    said: Iterable[tuple[Any, ...]], taxonomy: Taxonomy, schemes: Sequence[str]
) -> dict[Key, tuple[active.Opinion, ...]]:
    model: dict[tuple[Key, str], dict[str, float]] = defaultdict(dict)
    votes: dict[tuple[Key, str], Counter[str]] = defaultdict(Counter)
    for repo, number, scheme, value, weight, kind in said:
        if kind == "model":
            model[(repo, number), scheme][value] = weight
        else:
            votes[(repo, number), scheme][value] += weight * VOTE_WEIGHTS.get(kind, 0.5)
    found: dict[Key, list[active.Opinion]] = defaultdict(list)
    for item, scheme in sorted({*model, *votes}):
        if scheme in schemes:
            classes = len(taxonomy.scheme(scheme).names())
            key = (item, scheme)
            found[item].append(active.Opinion(scheme, classes, model.get(key, {}), votes.get(key, {})))
    return {item: tuple(opinions) for item, opinions in found.items()}


def _groups(titles: Sequence[str]) -> list[str]:
    """A name per group of near-duplicate titles."""
    from torch_embers.classify.splits import near_duplicates

    return [str(group) for group in near_duplicates(titles).tolist()] if titles else []


# ---- what is shown -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Shown:
    """An item as a person sees it."""

    item: Key
    title: str
    state: str
    labels: tuple[str, ...]
    cleaned: str
    raw: str
    guesses: Mapping[str, str]
    """Scheme -> what the model thinks, in words."""


def _load(store: Store, item: Key) -> Shown:
    key = {"repo": item[0], "number": item[1]}
    with store.read() as connection:
        names = _tables(connection)
        found = connection.execute(
            "SELECT kind, title, body, state, state_reason, labels, created_at FROM items "
            "WHERE repo = $repo AND number = $number",
            key,
        ).fetchall()
        comments = connection.execute(
            "SELECT author, created_at, body FROM comments WHERE repo = $repo AND number = $number "
            f"AND trim(coalesce(body, '')) <> '' ORDER BY created_at, comment_id LIMIT {COMMENTS}",
            key,
        ).fetchall()
        guesses = connection.execute(
            f"SELECT scheme, likeliest, probability, abstained FROM {names['predictions']} "
            "WHERE repo = $repo AND number = $number",
            key,
        ).fetchall()
    kind, title, body, state, reason, labels, created = found[0] if found else (None, "", "", "gone", None, None, None)
    words = (kind or "item", state or "state unknown", reason, created and f"{created:%Y-%m-%d}")
    return Shown(
        item,
        title or "(no title)",
        " · ".join(word for word in words if word),
        tuple(labels or ()),
        _thread(body or "", comments, cleaned=True),
        _thread(body or "", comments, cleaned=False),
        {scheme: _guess(value, probability, abstained) for scheme, value, probability, abstained in guesses},
    )


def _guess(value: str, probability: float, abstained: bool) -> str:
    sure = f"{value} {probability:.0%}" if math.isfinite(probability) else value
    return f"{sure} (too unsure to say)" if abstained else sure


def _thread(body: str, comments: Iterable[tuple[Any, ...]], *, cleaned: bool) -> str:
    """The first post and the comments below it, up to a limit that bounds the work, too."""
    limit = THREAD_CHARS if cleaned else RAW_CHARS
    parts = [(clean(body) if cleaned else body[:limit]).strip() or "(no text)"]
    size = len(parts[0])
    for author, created, said in comments:
        if size >= limit:
            parts.append("(more comments are not shown)")
            break
        text = clean(said, reply=True) if cleaned else said[: limit - size]
        if text.strip():
            when = f", {created:%Y-%m-%d}" if created else ""
            parts.append(f"--- {author or 'somebody'}{when} ---\n{text.strip()}")
            size += len(text)
    return "\n\n".join(parts)


def shown_text(text: str, style: str = "") -> Text:
    """Foreign text as it may stand in a terminal: no control, no markup, nothing invisible."""
    return Text.from_markup(plain(text.translate(_INVISIBLE)), emoji=False, style=style)


def _wrapped(text: str, out: Console) -> list[Text]:
    return list(shown_text(text).wrap(out, max(out.width, 20), overflow="fold", tab_size=4))


# ---- the walk ------------------------------------------------------------------------------------------------------


class _EndError(Exception):
    """No more keys."""


@dataclass(slots=True)
class _View:
    """What of the present item is on the screen."""

    shown: Shown | None = None
    raw: bool = False
    rules: bool = False
    top: int = 0
    chosen: tuple[str, ...] = ()
    """Picked so far in a question that takes several classes."""
    lines: list[Text] = field(default_factory=list)


class _Walk:
    """One session at the terminal."""

    def __init__(
        self,
        store: Store,
        session: Session,
        annotator: str,
        notes: dict[Any, str],
        keys: Iterator[str],
        out: Console,
        *,
        blind: bool,
    ) -> None:
        self.store, self.session, self.annotator, self.notes = store, session, annotator, notes
        self.keys, self.out, self.blind = keys, out, blind
        self.journal = Journal.of(store)
        self.pending: Answers = {}
        self.view = _View()
        self.said = ""
        self.commands: dict[str, Callable[[], None]] = {
            "b": self._back,
            "s": self._skip,
            "n": self._note,
            "u": self._undo,
            "r": self._raw,
            "?": self._rules,
            "0": self._cannot_tell,
        }

    def run(self) -> None:
        """Ask until the keys end, the person quits, or nothing is left; everything is kept whatever happens."""
        try:
            with suppress(_EndError):
                while self._turn():
                    pass
        finally:
            self.flush()

    def _turn(self) -> bool:
        self._show()
        key = self._key()
        if key in ("q", "Q"):
            return False
        if self.session.now is None and key in ENTER:
            return False
        self.said = ""
        before, stood = self.session.now, self.session.standing()
        self._press(key)
        if self.session.now != before or self.session.standing() != stood:
            self._moved(before)
        return True

    def _moved(self, before: active.Question | None) -> None:
        same = before and self.session.now and before.place == self.session.now.place
        standing = self.session.standing()
        if not same:
            self.view = _View()
            self.flush()
        self.view.rules, self.view.chosen = False, standing.values if standing else ()
        self.view.lines = []
        self.view.top = self.view.top if same else 0

    def _press(self, key: str) -> None:
        lower = key.lower()
        scheme = self._scheme()
        offered = active.class_keys(self.session.options())
        if lower in self.commands:
            self.commands[lower]()
        elif key in ON or key in UP:
            self._scroll(1 if key in ON else -1)
        elif scheme is None:
            self.said = "nothing is left to ask"
        elif lower in offered:
            self._choose(scheme, offered[lower].name)
        elif key in ENTER:
            self._enter(scheme)
        else:
            self.said = f"no class and no command on key {key!r}"

    def _key(self) -> str:
        for key in self.keys:
            if key in END:
                break
            return key
        raise _EndError

    # --- what keys do

    def _choose(self, scheme: Scheme, value: str) -> None:
        if scheme.exclusive:
            self._answer((value,))
        elif value in self.view.chosen:
            self.view.chosen = tuple(one for one in self.view.chosen if one != value)
        else:
            self.view.chosen = (*self.view.chosen, value)

    def _enter(self, scheme: Scheme) -> None:
        if not scheme.exclusive and self.view.chosen:
            self._answer(self.view.chosen)
        elif (standing := self.session.standing()) is not None and self.view.chosen in ((), standing.values):
            self.session = self.session.forward()
        else:
            self.said = "press the key of a class, or 0 where the report does not decide it"

    def _cannot_tell(self) -> None:
        if self.session.now is not None:
            self._answer(())

    def _answer(self, values: Sequence[str]) -> None:
        answered, changes = self.session.answer(values, now_utc())
        self._keep(changes)
        self.session = answered

    def _undo(self) -> None:
        undone, changes = self.session.undo()
        if not changes:
            self.said = "nothing of this session to take back"
            return
        self._keep(changes)
        self.session = undone
        self.said = f"taken back: {changes[0].scheme}"

    def _back(self) -> None:
        returned = self.session.back()
        self.said = "this is the first question" if returned == self.session else ""
        self.session = returned

    def _skip(self) -> None:
        self.session = self.session.skip()

    def _raw(self) -> None:
        self.view.raw, self.view.rules, self.view.top, self.view.lines = not self.view.raw, False, 0, []

    def _rules(self) -> None:
        self.view.rules, self.view.top, self.view.lines = not self.view.rules, 0, []

    def _scroll(self, pages: int) -> None:
        step = max(self._room() - 1, 1)
        last = max(len(self.view.lines) - self._room(), 0)
        self.view.top = min(max(self.view.top + pages * step, 0), last)

    def _note(self) -> None:
        item = self.session.item
        if item is None:
            return
        text = self.line("note (Enter keeps it, Esc leaves it)", NOTE_CHARS)
        if text is None:
            return
        self.journal.append([active.Entry(active.NOTE, *item, self.annotator, now_utc(), note=text)])
        self.notes[self.annotator, item] = text
        standing = {key: answer for key, answer in self.session.answers.items() if key[0] == item}
        self.pending |= {(self.annotator, item, scheme): answer for (_, scheme), answer in standing.items()}
        self.said = "note kept" if text else "note removed"

    def line(self, prompt: str, limit: int) -> str | None:
        """A line of text, typed key by key; ``None`` after Escape. The end of the keys ends the line as well.

        Raises:
            _EndError: the keys ended and nothing was typed.
        """
        self._print(Text(f"{prompt}: "), end="")
        typed = ""
        while True:
            try:
                key = self._key()
            except _EndError:
                if typed:
                    break
                raise
            if key in ENTER or key == ESCAPE:
                self._print(Text(""))
                if key == ESCAPE:
                    return None
                break
            if key in ERASE:
                typed = typed[:-1]
                self._print(Text("\b \b"), end="")
            elif len(key) == 1 and key.isprintable() and len(typed) < limit:
                typed += key
                self._print(shown_text(key), end="")
        return " ".join(clean_text(typed).split())

    # --- keeping

    def _keep(self, changes: Sequence[Change]) -> None:
        """The journal first: what it has is safe."""
        self.journal.append(active.entries_of(changes, self.annotator, now_utc()))
        for one in changes:
            self.pending[self.annotator, one.item, one.scheme] = one.after

    def flush(self) -> None:
        """Bring what the journal has into the table, unless somebody else is writing."""
        if not self.pending:
            return
        try:
            with self.store.writer(PURPOSE) as writer:
                put(writer, self.pending, self.notes)
            self.pending = {}
        except StoreBusyError:
            self.said = f"the database is busy: answers wait in {self.journal.path.name}"

    # --- showing

    def _print(self, text: Text, end: str = "\n") -> None:
        self.out.print(text, end=end, highlight=False, emoji=False, soft_wrap=True)

    def _scheme(self) -> Scheme | None:
        return self.session.taxonomy.scheme(self.session.now.scheme) if self.session.now else None

    def _room(self) -> int:
        """Lines left for the text."""
        if not self.out.is_terminal:
            return PIPED_LINES
        classes = len(self._compact()) if self._is_low() else len(self.session.options())
        return max(self.out.height - classes - OTHER_LINES, LEAST_LINES)

    def _is_low(self) -> bool:
        """Whether the window is too low for one line a class; the rules are then a key away."""
        return self.out.is_terminal and self.out.height < len(self.session.options()) + OTHER_LINES + LEAST_LINES

    def _show(self) -> None:
        if self.out.is_terminal:
            self.out.clear()
        if self.session.now is None:
            self._print(Text("Nothing is left to ask. Enter or q ends, b goes back, u takes the last answer back."))
        else:
            self._show_item()
            self._show_question()
        if self.said:
            self._print(shown_text(self.said, "yellow"))

    def _show_item(self) -> None:
        item, now = self.session.item, self.session.now
        if item is None or now is None:
            return
        if self.view.shown is None:
            self.view.shown = _load(self.store, item)
        shown = self.view.shown
        self._print(
            shown_text(f"{item[0]}#{item[1]} · {shown.state} · {now.place + 1} of {len(self.session.items)}", "dim")
        )
        self._print(shown_text(shown.title, "bold"))
        self._print(shown_text("labels: " + (", ".join(shown.labels) or "none"), "cyan"))
        if note := self.notes.get((self.annotator, item)):
            self._print(shown_text(f"note: {note}", "green"))
        self._show_text(shown)

    def _show_text(self, shown: Shown) -> None:
        view = self.view
        if not view.lines:
            view.lines = (
                self._rule_lines() if view.rules else _wrapped(shown.raw if view.raw else shown.cleaned, self.out)
            )
        page = view.lines[view.top : view.top + self._room()]
        self._print(Text("-" * min(self.out.width, 100), "dim"))
        for line in page:
            self._print(line)
        kind = "rules" if view.rules else "raw text" if view.raw else "text"
        more = "" if len(page) == len(view.lines) else "; space and - scroll"
        self._print(Text(f"--- {kind}, lines {view.top + 1}-{view.top + len(page)} of {len(view.lines)}{more}", "dim"))

    def _rule_lines(self) -> list[Text]:
        scheme = self._scheme()
        if scheme is None:
            return []
        said = [f"{scheme.name}: {scheme.definition} {scheme.order}", ""]
        for key, entry in active.class_keys(self.session.options()).items():
            said += [f"{key} {entry.name}: {entry.definition}", f"    {entry.rule}", ""]
        return _wrapped("\n".join(said), self.out)

    def _show_question(self) -> None:
        scheme = self._scheme()
        if scheme is None or self.view.shown is None:
            return
        guess = self.view.shown.guesses.get(scheme.name)
        tail = f"   model: {guess}" if guess and not self.blind else ""
        self._print(shown_text(f"{scheme.name}: {scheme.definition}{tail}", "bold"))
        for line in self._compact() if self._is_low() else self._class_lines():
            self._print(line)
        standing = self.session.standing()
        if standing is not None:
            told = ", ".join(standing.values) or "cannot tell"
            self._print(shown_text(f"your answer: {told} (Enter leaves it)", "green"))
        elif not scheme.exclusive:
            self._print(Text("any number of keys, then Enter", "dim"))
        self._print(Text(" · ".join(f"{key} {what}" for key, what in active.COMMANDS.items()), "dim"))

    def _class_lines(self) -> list[Text]:
        """A line per class: its key, its name, and as much of its rule as there is room for."""
        offered = active.class_keys(self.session.options())
        longest = max((len(entry.name) for entry in offered.values()), default=0)
        lines = []
        for key, entry in offered.items():
            line = Text(f"{self._mark(entry)}{key} {entry.name:<{longest}}  ") + shown_text(entry.rule, "dim")
            line.truncate(max(self.out.width, 20), overflow="ellipsis")
            lines.append(line)
        return lines

    def _compact(self) -> list[Text]:
        """The classes without their rules, several in a line."""
        offered = active.class_keys(self.session.options()).items()
        names = [f"{self._mark(entry)}{key} {entry.name}".replace(" ", "\xa0") for key, entry in offered]
        return list(Text("  ".join(names)).wrap(self.out, max(self.out.width, 20)))

    def _mark(self, entry: ClassDef) -> str:
        return "*" if entry.name in self.view.chosen else " "


# ---- the command ---------------------------------------------------------------------------------------------------


def valid_name(name: str) -> str:
    """An annotator's name, tidied.

    Raises:
        InputError: empty, too long, or with control characters.
    """
    tidy = " ".join(name.split())
    if not tidy or len(tidy) > NAME_CHARS or not tidy.isprintable():
        raise InputError(f"an annotator's name has 1 to {NAME_CHARS} printable characters")
    return tidy


def label_session(
    store: Store,
    scheme_names: Sequence[str],
    annotator: str | None,
    limit: int,
    keys: Iterator[str],
    out: Console,
    *,
    blind: bool = False,
) -> Summary:
    """Walk a person through the most informative items; what is labelled is kept at once.

    Args:
        store: the database; ``gold.jsonl`` lies beside it.
        scheme_names: what to ask (their parents are asked, too); none: everything.
        annotator: who labels; asked for where it is ``None``.
        limit: how many items to offer at most, 1 or more.
        keys: keys as ``read_keys`` gives them; their end ends the session.
        out: where to show it.
        blind: do not show the model's guess, for labels that shall judge the model.

    Raises:
        InputError: an unknown scheme, an impossible name or limit.
        StoreError: no database, or the journal cannot be written.
    """
    if limit < 1:
        raise InputError(f"--limit must be at least 1, not {limit}")
    taxonomy = Taxonomy.load()
    schemes = active.asked(taxonomy, scheme_names)
    walk = _Walk(store, active.begin(taxonomy, schemes, ()), "", {}, keys, out, blind=blind)
    try:
        torn = _prepare(walk, annotator, limit)
        if walk.annotator:
            walk.run()
    finally:
        if callable(close := getattr(keys, "close", None)):
            close()  # puts the terminal back in order
    return _summary(walk, torn)


def _prepare(walk: _Walk, annotator: str | None, limit: int) -> int:
    """Find out who labels and what to ask; returns how many lines of the journal cannot be read."""
    entries, torn = walk.journal.read()
    walk.annotator = _who(walk.store, annotator, walk)
    if walk.annotator:
        with suppress(StoreBusyError):
            restore(walk.store)
        told = active.fold(entries, walk.session.taxonomy)
        walk.notes = dict(told.notes)
        walk.session = _resume(walk.store, walk.session, walk.annotator, told, limit)
    return torn


def _who(store: Store, annotator: str | None, walk: _Walk) -> str:
    """The annotator's name; empty where nobody gives one."""
    if annotator is not None:
        name = valid_name(annotator)
        if foreign_name(store, name):
            raise InputError(f"{name!r} is the name of an annotator that is no person: choose another one")
        return name
    while True:
        try:
            typed = walk.line("your name, as it shall stand beside the labels", NAME_CHARS)
        except _EndError:
            return ""
        if typed is None:
            return ""
        try:
            name = valid_name(typed)
        except InputError as error:
            walk.out.print(shown_text(str(error)))
            continue
        if not foreign_name(store, name):
            return name
        walk.out.print(shown_text(f"{name!r} is the name of an annotator that is no person: choose another one"))


def _resume(store: Store, empty: Session, annotator: str, told: active.Told, limit: int) -> Session:
    """The session of this person: what was begun first, then what is most informative; nothing that is done."""
    taxonomy, schemes = empty.taxonomy, empty.schemes
    with store.read() as connection:
        answers = _table_answers(connection, annotator)
    for (who, item, scheme), answer in told.answers.items():
        if who != annotator:
            continue
        if answer is None:
            answers.pop((item, scheme), None)
        else:
            answers[item, scheme] = answer
    before = active.begin(taxonomy, schemes, (), answers)
    touched = list(dict.fromkeys(item for item, _ in answers))
    begun = [item for item in touched if before.open_schemes(item)]
    done = set(touched) - set(begun)
    picked = _pick(store, taxonomy, schemes, annotator, done=sorted(done), begun=begun)
    return active.begin(taxonomy, schemes, picked[:limit], answers)


def _summary(walk: _Walk, torn: int) -> Summary:
    session = walk.session
    given = session.given()
    left = sum(1 for item in session.items if session.open_schemes(item))
    return Summary(
        walk.annotator,
        len({item for item, _ in given}),
        len(given),
        len(session.skipped),
        left,
        len(walk.pending),
        torn,
        walk.journal.path,
        finished=bool(walk.annotator) and left == 0,
    )
