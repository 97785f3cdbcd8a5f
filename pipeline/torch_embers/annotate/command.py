"""The command behind `embers data label`: who labels, what to ask, the walk, and what came of it.

Each answer goes first to the journal (``journal.py``), then, item by item, to the table ``gold_labels``.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch_embers.annotate.item import shown_text
from torch_embers.annotate.journal import fold
from torch_embers.annotate.queue import pick
from torch_embers.annotate.session import asked, begin
from torch_embers.annotate.table import foreign_name, restore, table_answers
from torch_embers.annotate.walk import KeysEndError, Walk
from torch_embers.errors import InputError, StoreBusyError
from torch_embers.taxonomy import Taxonomy

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from rich.console import Console

    from torch_embers.annotate.journal import JournalState
    from torch_embers.annotate.session import Session
    from torch_embers.store.store import Store

NAME_CHARS = 60


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
        blind: do not show the model's guess, for labels that are used to evaluate the model.

    Raises:
        InputError: an unknown scheme, an impossible name or limit.
        StoreError: no database, or the journal cannot be written.
    """
    if limit < 1:
        raise InputError(f"--limit must be at least 1, not {limit}")
    taxonomy = Taxonomy.load()
    schemes = asked(taxonomy, scheme_names)
    walk = Walk(store, begin(taxonomy, schemes, ()), "", {}, keys, out, blind=blind)
    try:
        torn = _prepare(walk, annotator, limit)
        if walk.annotator:
            walk.run()
    finally:
        if callable(close := getattr(keys, "close", None)):
            close()  # puts the terminal back in order
    return _summary(walk, torn)


def _prepare(walk: Walk, annotator: str | None, limit: int) -> int:
    """Find out who labels and what to ask; returns how many lines of the journal cannot be read."""
    entries, torn = walk.journal.read()
    walk.annotator = _who(walk.store, annotator, walk)
    if walk.annotator:
        with suppress(StoreBusyError):
            restore(walk.store)
        state = fold(entries, walk.session.taxonomy)
        walk.notes = dict(state.notes)
        walk.session = _resume(walk.store, walk.session, walk.annotator, state, limit)
    return torn


def _who(store: Store, annotator: str | None, walk: Walk) -> str:
    """The annotator's name; empty where nobody gives one."""
    if annotator is not None:
        return _own_name(store, annotator)
    while True:
        try:
            typed = walk.line("your name, as it shall stand beside the labels", NAME_CHARS)
        except KeysEndError:
            return ""
        if typed is None:
            return ""
        try:
            return _own_name(store, typed)
        except InputError as error:
            walk.out.print(shown_text(str(error)))


def _own_name(store: Store, typed: str) -> str:
    """A name, tidied, that no automated annotator has; InputError where there is none."""
    name = valid_name(typed)
    if foreign_name(store, name):
        raise InputError(f"{name!r} is the name of an annotator that is no person: choose another one")
    return name


def _resume(store: Store, empty: Session, annotator: str, state: JournalState, limit: int) -> Session:
    """The session of this person: what was begun first, then what is most informative; nothing that is done."""
    taxonomy, schemes = empty.taxonomy, empty.schemes
    with store.read() as connection:
        answers = table_answers(connection, annotator)
    for (who, item, scheme), answer in state.answers.items():
        if who != annotator:
            continue
        if answer is None:
            answers.pop((item, scheme), None)
        else:
            answers[item, scheme] = answer
    before = begin(taxonomy, schemes, (), answers)
    touched = list(dict.fromkeys(item for item, _ in answers))
    begun = [item for item in touched if before.open_schemes(item)]
    done = set(touched) - set(begun)
    picked = pick(store, taxonomy, schemes, annotator, done=sorted(done), begun=begun)
    return begin(taxonomy, schemes, picked[:limit], answers)


def _summary(walk: Walk, torn: int) -> Summary:
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
