"""A walk through items and questions as a value.

Each answer, step back or undo gives the next session, together with what has to be stored. The terminal and the files
are the business of others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from torch_embers.taxonomy import ANY, Taxonomy, TaxonomyError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from torch_embers.taxonomy import ClassDef

Key = tuple[str, int]
"""Repository and number of an item."""

COMMANDS = {
    "b": "back",
    "s": "skip",
    "n": "note",
    "u": "undo",
    "r": "raw text",
    "?": "rules",
    "0": "cannot tell",
    "q": "quit",
}
"""Keys that mean the same in every question."""
CLASS_KEYS = "123456789" + "".join(letter for letter in "abcdefghijklmopqrstuvwxyz" if letter not in COMMANDS)


def class_keys(classes: Sequence[ClassDef]) -> dict[str, ClassDef]:
    """A key per class, in their order: digits, then letters that are no command.

    Raises:
        TaxonomyError: more classes than keys.
    """
    if len(classes) > len(CLASS_KEYS):
        raise TaxonomyError(f"a question has {len(classes)} classes, the keyboard has keys for {len(CLASS_KEYS)}")
    return dict(zip(CLASS_KEYS, classes, strict=False))


@dataclass(frozen=True, slots=True)
class Answer:
    """What a person said of an item in one scheme."""

    values: tuple[str, ...]
    """Empty: the report does not decide it."""
    labelled_at: str
    """ISO 8601 in UTC."""


@dataclass(frozen=True, slots=True)
class Change:
    """An answer that was given, replaced or withdrawn."""

    item: Key
    scheme: str
    before: Answer | None
    after: Answer | None


@dataclass(frozen=True, slots=True)
class Question:
    """One scheme of one item of the session."""

    place: int
    scheme: str


@dataclass(frozen=True, slots=True)
class Session:
    """Where a person stands in the walk through the items; made by ``begin``."""

    taxonomy: Taxonomy
    schemes: tuple[str, ...]
    """What is asked, parents before children."""
    items: tuple[Key, ...]
    answers: Mapping[tuple[Key, str], Answer]
    """All answers of this person, also of earlier sessions and of schemes that are not asked now."""
    now: Question | None = None
    """``None``: nothing is left to ask."""
    trail: tuple[Question, ...] = ()
    """Questions gone through before this one."""
    history: tuple[tuple[Change, ...], ...] = ()
    """What each answer of this session changed."""
    skipped: frozenset[Key] = frozenset()

    @property
    def item(self) -> Key | None:
        """The item that is asked about."""
        return self.items[self.now.place] if self.now else None

    def labels(self, item: Key) -> dict[str, str]:
        """The single values given to an item, by scheme."""
        answers = {scheme: self.answers.get((item, scheme)) for scheme in self.taxonomy.schemes}
        return {scheme: answer.values[0] for scheme, answer in answers.items() if answer and len(answer.values) == 1}

    def options(self) -> tuple[ClassDef, ...]:
        """The classes that the present question offers."""
        return self._options(self.now.scheme, self.labels(self.items[self.now.place])) if self.now else ()

    def standing(self) -> Answer | None:
        """The answer that the present question has already, after a step back."""
        return self.answers.get((self.items[self.now.place], self.now.scheme)) if self.now else None

    def answer(self, values: Sequence[str], moment: str) -> tuple[Session, tuple[Change, ...]]:
        """Answer the present question and go on; returns what has to be stored as well.

        Answers that no longer apply (a memory type where the bug type is not memory any more) are withdrawn.

        Args:
            values: values of the question's classes; empty: the report does not decide it.
            moment: now, ISO 8601 in UTC.

        Raises:
            TaxonomyError: a value that is not offered, several where one is asked for, or no question.
        """
        if self.now is None:
            raise TaxonomyError("no question is open")
        scheme = self.taxonomy.scheme(self.now.scheme)
        offered = [entry.name for entry in self.options()]
        if unknown := [value for value in values if value not in offered]:
            raise TaxonomyError(f"{unknown[0]!r} is no class of {scheme.name} here (offered: {', '.join(offered)})")
        if scheme.exclusive and len(values) > 1:
            raise TaxonomyError(f"{scheme.name} takes one class, not {len(values)}")
        item = self.items[self.now.place]
        chosen = tuple(value for value in dict.fromkeys(offered) if value in values)
        before = self.answers.get((item, scheme.name))
        if before is not None and before.values == chosen:
            return self.forward(), ()
        changes = self._consequences(Change(item, scheme.name, before, Answer(chosen, moment)))
        answered = self._with(changes)
        return replace(answered, history=(*self.history, changes)).forward(), changes

    def forward(self) -> Session:
        """Go to the next question without an answer, leaving this one as it is."""
        if self.now is None:
            return self
        item = self.items[self.now.place]
        moved = replace(self, trail=(*self.trail, self.now), skipped=self.skipped - {item})
        return replace(moved, now=moved.next_open(self.now.place))

    def skip(self) -> Session:
        """Leave the item; it comes again in the next session unless it has all its answers."""
        if self.now is None:
            return self
        item = self.items[self.now.place]
        left = self.skipped | {item} if self.open_schemes(item) else self.skipped
        moved = replace(self, trail=(*self.trail, self.now), skipped=left)
        return replace(moved, now=moved.next_open(self.now.place + 1))

    def back(self) -> Session:
        """Return to the question before; its answer stands until another one is given."""
        for at in range(len(self.trail) - 1, -1, -1):
            now = self.trail[at]
            if self._asked_now(now):
                return replace(self, now=now, trail=self.trail[:at], skipped=self.skipped - {self.items[now.place]})
        return self

    def undo(self) -> tuple[Session, tuple[Change, ...]]:
        """Take back the last answer and ask it again; returns what has to be stored (nothing where none is left)."""
        if not self.history:
            return self, ()
        *history, last = self.history
        changes = tuple(Change(one.item, one.scheme, one.after, one.before) for one in last)
        question = Question(self.items.index(last[0].item), last[0].scheme)
        trail = self.trail[: self.trail.index(question)] if question in self.trail else self.trail
        undone = self._with(changes)
        skipped = self.skipped - {last[0].item}
        return replace(undone, history=tuple(history), now=question, trail=trail, skipped=skipped), changes

    def next_open(self, place: int = 0) -> Question | None:
        """The first question without an answer from an item on, past the skipped items."""
        for at in range(place, len(self.items)):
            item = self.items[at]
            if item not in self.skipped and (left := self.open_schemes(item)):
                return Question(at, left[0])
        return None

    def open_schemes(self, item: Key) -> tuple[str, ...]:
        """What is still to be asked of an item, as far as its answers tell."""
        labels = self.labels(item)
        return tuple(
            scheme
            for scheme in self.schemes
            if (item, scheme) not in self.answers and self.taxonomy.applies(scheme, labels)
        )

    def given(self) -> list[tuple[Key, str]]:
        """(item, scheme) of the answers that this session gave and that stand."""
        touched = dict.fromkeys((one.item, one.scheme) for changes in self.history for one in changes)
        return [key for key in touched if key in self.answers]

    def _asked_now(self, question: Question) -> bool:
        return self.taxonomy.applies(question.scheme, self.labels(self.items[question.place]))

    def _options(self, name: str, labels: Mapping[str, str]) -> tuple[ClassDef, ...]:
        scheme = self.taxonomy.scheme(name)
        if scheme.parent is None or scheme.parent[1] != ANY:
            return scheme.classes
        return scheme.under(labels.get(scheme.parent[0]))

    def _with(self, changes: Iterable[Change]) -> Session:
        answers = dict(self.answers)
        for one in changes:
            if one.after is None:
                answers.pop((one.item, one.scheme), None)
            else:
                answers[one.item, one.scheme] = one.after
        return replace(self, answers=answers)

    def _consequences(self, first: Change) -> tuple[Change, ...]:
        """The change, and the withdrawal of every answer of the item that does not apply after it."""
        changes = [first]
        item = first.item
        for name in self.taxonomy.schemes:
            changed = self._with(changes)
            standing = changed.answers.get((item, name))
            if standing is None:
                continue
            labels = changed.labels(item)
            offered = {entry.name for entry in self._options(name, labels)}
            if not self.taxonomy.applies(name, labels) or not offered.issuperset(standing.values):
                changes.append(Change(item, name, standing, None))
        return tuple(changes)


def begin(
    taxonomy: Taxonomy,
    schemes: Sequence[str],
    items: Iterable[Key],
    answers: Mapping[tuple[Key, str], Answer] | None = None,
) -> Session:
    """Start or resume: the session stands at the first question without an answer.

    Args:
        taxonomy: the classes.
        schemes: what to ask, as ``asked`` gives it.
        items: in the order in which to ask.
        answers: what this person answered before.
    """
    fresh = Session(taxonomy, tuple(schemes), tuple(dict.fromkeys(items)), dict(answers or {}))
    return replace(fresh, now=fresh.next_open())


def asked(taxonomy: Taxonomy, names: Sequence[str] = ()) -> tuple[str, ...]:
    """The schemes that a session asks: the named ones and their parents, parents first; all where none is named.

    Raises:
        TaxonomyError: there is no scheme of that name.
    """
    wanted = set(taxonomy.schemes) if not names else set()
    for name in names:
        entry = taxonomy.scheme(name)
        wanted.add(name)
        while entry.parent is not None:
            entry = taxonomy.scheme(entry.parent[0])
            wanted.add(entry.name)
    return tuple(name for name in taxonomy.schemes if name in wanted)
