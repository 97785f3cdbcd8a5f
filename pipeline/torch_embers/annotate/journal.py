"""The journal of labels by hand: ``gold.jsonl`` beside the database, append-only, one line an answer.

It is the original: it outlives the database, and of each question its last line counts.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch_embers.annotate.session import Answer
from torch_embers.errors import StoreError
from torch_embers.normalize import clean_text, iso_utc
from torch_embers.store.append_only import append

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from torch_embers.annotate.session import Change, Key
    from torch_embers.store.store import Store
    from torch_embers.taxonomy import Taxonomy

JOURNAL = "gold.jsonl"
HUMAN = "human"
LABEL, WITHDRAW, NOTE = "label", "withdraw", "note"
_BIGGEST_NUMBER = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the journal: what a person did, never changed afterwards. Of each question the last line counts."""

    action: str
    """label, withdraw (the question has no answer any more) or note."""
    repo: str
    number: int
    annotator: str
    labelled_at: str
    scheme: str = ""
    """Empty for a note, which is of the whole item."""
    values: tuple[str, ...] = ()
    """Empty for a label: the report does not decide it."""
    note: str = ""


def entries_of(changes: Iterable[Change], annotator: str, moment: str) -> list[Entry]:
    """Journal lines of what an answer or an undo changed."""
    return [
        Entry(LABEL, *one.item, annotator, one.after.labelled_at, one.scheme, one.after.values)
        if one.after is not None
        else Entry(WITHDRAW, *one.item, annotator, moment, one.scheme)
        for one in changes
    ]


def entry_line(entry: Entry) -> bytes:
    """One line of JSON with its line feed."""
    said = {
        "action": entry.action,
        "repo": entry.repo,
        "number": entry.number,
        "annotator_kind": HUMAN,
        "annotator": entry.annotator,
        "labelled_at": entry.labelled_at,
    }
    body: dict[str, Any] = {"note": entry.note} if entry.action == NOTE else {"scheme": entry.scheme}
    if entry.action == LABEL:
        body["values"] = list(entry.values)
    return clean_text(json.dumps(said | body, ensure_ascii=False)).encode() + b"\n"


def read_entries(lines: Iterable[bytes]) -> tuple[list[Entry], int]:
    """Entries of a journal, and how many lines are none (torn by a crash, or edited by hand)."""
    entries, bad = [], 0
    for line in lines:
        if not line.strip():
            continue
        entry = _entry(line)
        if entry is None:
            bad += 1
        else:
            entries.append(entry)
    return entries, bad


def _entry(line: bytes) -> Entry | None:
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        return None
    match said:
        case {"action": str(action), "repo": str(repo), "number": int(number), "annotator": str(annotator)}:
            moment = iso_utc(said.get("labelled_at"))
        case _:
            return None
    if moment is None or isinstance(number, bool) or not 0 < number <= _BIGGEST_NUMBER or not repo or not annotator:
        return None
    match action, said:
        case "note", {"note": str(note)}:
            return Entry(NOTE, clean_text(repo), number, clean_text(annotator), moment, note=clean_text(note))
        case "withdraw", {"scheme": str(scheme)}:
            return Entry(WITHDRAW, clean_text(repo), number, clean_text(annotator), moment, scheme)
        case "label", {"scheme": str(scheme), "values": [*values]} if all(isinstance(one, str) for one in values):
            return Entry(LABEL, clean_text(repo), number, clean_text(annotator), moment, scheme, tuple(values))
    return None


@dataclass(frozen=True, slots=True)
class JournalState:
    """The answers and notes that are valid after all lines of a journal."""

    answers: Mapping[tuple[str, Key, str], Answer | None]
    """(annotator, item, scheme) -> answer; ``None`` where it was withdrawn."""
    notes: Mapping[tuple[str, Key], str]
    unknown: int
    """Labels of schemes or classes that the taxonomy does not have (any more); they are left alone."""


def fold(entries: Iterable[Entry], taxonomy: Taxonomy) -> JournalState:
    """Apply all lines in order: of each question the last one is valid."""
    answers: dict[tuple[str, Key, str], Answer | None] = {}
    notes: dict[tuple[str, Key], str] = {}
    unknown = 0
    for entry in entries:
        item = (entry.repo, entry.number)
        if entry.action == NOTE:
            notes[entry.annotator, item] = entry.note
        elif entry.action == WITHDRAW:
            answers[entry.annotator, item, entry.scheme] = None
        elif _is_known(entry, taxonomy):
            answers[entry.annotator, item, entry.scheme] = Answer(entry.values, entry.labelled_at)
        else:
            unknown += 1
    return JournalState(answers, notes, unknown)


def _is_known(entry: Entry, taxonomy: Taxonomy) -> bool:
    scheme = taxonomy.schemes.get(entry.scheme)
    return scheme is not None and set(entry.values) <= set(scheme.names())


# ---- the file ------------------------------------------------------------------------------------------------------


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
                return read_entries(lines)
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
        append(self.path, b"".join(map(entry_line, entries)))
