"""What a person should label next, which labels are likely wrong, and where a labelling session stands.

Key insight: a label is worth most where model and weak votes contradict each other, where the model wavers, and in
classes that are rare. Near-duplicates teach nothing new, so they are kept apart.

Everything here is pure. A session is a value: each answer, step back or undo gives the next one together with what has
to be stored; the terminal and the files are the business of ``label_console``.
"""

from __future__ import annotations

import heapq
import json
import math
from collections import Counter, defaultdict, deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from torch_embers.classify.taxonomy import ANY, Taxonomy, TaxonomyError
from torch_embers.errors import InputError
from torch_embers.mine.pages import clean_text, iso_utc

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy.typing as npt

    from torch_embers.classify.taxonomy import ClassDef

Key = tuple[str, int]
"""Repository and number of an item."""

DISAGREEMENT, UNCERTAINTY, RARITY = 0.40, 0.35, 0.25
"""Shares of the three reasons in a score. A contradiction comes first, as one of the two sides is surely wrong; rarity
comes last, or every doubtful guess of the rarest class would be asked before all else."""
APART = 5
"""Of so many items in a row no two are of one group, as long as another group is left."""
HUMAN = "human"

# ---- ranking -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Opinion:
    """What is thought of an item in one scheme before anyone looked at it."""

    scheme: str
    classes: int
    """How many classes the scheme has."""
    model: Mapping[str, float] = field(default_factory=dict)
    """Value -> probability, possibly of the likeliest value alone; empty where no model has seen the item."""
    votes: Mapping[str, float] = field(default_factory=dict)
    """Value -> weight above 0 of the weak labels for it; empty where there are none."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """An item that might be asked about."""

    repo: str
    number: int
    opinions: tuple[Opinion, ...] = ()
    group: str = ""
    """Near-duplicates share it; empty: like no other."""
    changed_at: str = ""
    """ISO 8601 in UTC; the newer comes first where nothing else decides."""


def rank(candidates: Sequence[Candidate], known: Mapping[tuple[str, str], int] | None = None) -> list[Candidate]:
    """Return the candidates, the most informative first.

    The score is the best of an item's opinions: contradiction between model and votes, uncertainty, rarity of the
    class that it would belong to. Without any opinion the newest comes first. Equal input gives equal output,
    whatever its order.

    Args:
        candidates: each item once.
        known: (scheme, value) -> items that have this label already; makes frequent classes less interesting.
    """
    rarity = _rarities(candidates, known or {})
    ordered = sorted(candidates, key=lambda one: (one.repo, one.number))
    ordered.sort(key=lambda one: one.changed_at, reverse=True)
    ordered.sort(key=lambda one: (-score(one, rarity), not any(map(_says_something, one.opinions))))
    return _apart(ordered)


def score(candidate: Candidate, rarity: Mapping[tuple[str, str], float]) -> float:
    """How informative an item is, 0 to 1, rounded so that machines agree."""
    found = [_score(opinion, rarity) for opinion in candidate.opinions if _says_something(opinion)]
    return round(max(found, default=0.0), 9)


def disagreement(opinion: Opinion) -> float:
    """Distance between what the model and what the votes say (total variation, 0 to 1).

    Without a model: the share of the votes that are not for the leading value. Without votes: 0.
    """
    votes = _votes(opinion)
    if not votes:
        return 0.0
    model = _model(opinion)
    if not model:
        return 1 - max(votes.values())
    spread, unnamed = _spread(opinion, {*model, *votes})
    return (sum(abs(spread[value] - votes.get(value, 0.0)) for value in spread) + unnamed) / 2


def uncertainty(opinion: Opinion) -> float:
    """How undecided the model is, 0 to 1: mean of normalised entropy and of one minus the margin between its first two.

    A probability that is not given is taken as spread evenly over the classes that are not named. Without a model the
    shares of the votes stand in for it.
    """
    model = _model(opinion)
    named = model or _votes(opinion)
    classes = max(opinion.classes, len(named))
    if not named or classes < 2:
        return 0.0
    rest = max(1 - sum(named.values()), 0.0) if model else 0.0
    missing = classes - len(named)
    shares = [*named.values(), *(rest / missing for _ in range(missing))]
    entropy = -sum(share * math.log(share) for share in shares if share > 0) / math.log(classes)
    first, second = heapq.nlargest(2, shares)
    return min((entropy + 1 - (first - second)) / 2, 1.0)


def _score(opinion: Opinion, rarity: Mapping[tuple[str, str], float]) -> float:
    rare = rarity.get((opinion.scheme, _leading(opinion)), 0.0)
    return DISAGREEMENT * disagreement(opinion) + UNCERTAINTY * uncertainty(opinion) + RARITY * rare


def _model(opinion: Opinion) -> dict[str, float]:
    """The probabilities that are numbers, brought to a sum of at most 1."""
    usable = {value: min(p, 1.0) for value, p in opinion.model.items() if math.isfinite(p) and p > 0}
    total = max(sum(usable.values()), 1.0)
    return {value: p / total for value, p in usable.items()}


def _votes(opinion: Opinion) -> dict[str, float]:
    usable = {value: weight for value, weight in opinion.votes.items() if math.isfinite(weight) and weight > 0}
    total = sum(usable.values())
    return {value: weight / total for value, weight in usable.items()}


def _spread(opinion: Opinion, values: set[str]) -> tuple[dict[str, float], float]:
    """The model's probability of each value, and what it leaves to classes that nobody named."""
    model = _model(opinion)
    rest = max(1 - sum(model.values()), 0.0)
    missing = max(opinion.classes, len(values)) - len(model)
    share = rest / missing if missing else 0.0
    spread = {value: model.get(value, share) for value in sorted(values)}
    return spread, max(1 - sum(spread.values()), 0.0)


def _says_something(opinion: Opinion) -> bool:
    return bool(_model(opinion) or _votes(opinion))


def _leading(opinion: Opinion) -> str:
    """The value an item would get; of equals the first by name. Votes decide where they are all there is."""
    named = _model(opinion) or _votes(opinion)
    return min(named, key=lambda value: (-named[value], value), default="")


def _rarities(candidates: Iterable[Candidate], known: Mapping[tuple[str, str], int]) -> dict[tuple[str, str], float]:
    """0 for the most frequent class of a scheme, towards 1 for rarer ones, on a logarithmic scale."""
    counted = Counter(
        (opinion.scheme, _leading(opinion))
        for candidate in candidates
        for opinion in candidate.opinions
        if _says_something(opinion)
    )
    total = {key: count + max(known.get(key, 0), 0) for key, count in counted.items()}
    most: dict[str, int] = defaultdict(int)
    for (scheme, _), count in total.items():
        most[scheme] = max(most[scheme], count)
    return {(scheme, value): 1 - math.log1p(n) / math.log1p(most[scheme]) for (scheme, value), n in total.items()}


def _apart(ordered: Sequence[Candidate]) -> list[Candidate]:
    """The same order, but a group waits until ``APART - 1`` others came, as long as there are others."""
    members: dict[str | int, deque[int]] = defaultdict(deque)
    for place, one in enumerate(ordered):
        members[one.group or place].append(place)
    ready = [(places[0], group) for group, places in members.items()]
    heapq.heapify(ready)
    resting: deque[tuple[int, str | int]] = deque()
    found: list[Candidate] = []
    while ready or resting:
        while resting and (resting[0][0] <= len(found) or not ready):
            group = resting.popleft()[1]
            heapq.heappush(ready, (members[group][0], group))
        group = heapq.heappop(ready)[1]
        found.append(ordered[members[group].popleft()])
        if members[group]:
            resting.append((len(found) + APART - 1, group))
    return found


# ---- likely errors -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LikelyError:
    """A label that its own class's standard speaks against."""

    place: int
    """Row in what was given."""
    label: int
    """The given class."""
    suggested: int
    """The class that the model prefers."""
    self_confidence: float
    """Probability of the given class."""
    expected: float
    """Mean of that over all rows with this label: how sure the model usually is of it."""
    sure: float
    """Probability of the suggested class minus that of the given one."""


def likely_errors(probabilities: npt.ArrayLike, labels: Sequence[int]) -> list[LikelyError]:
    """Find labels that are probably wrong, the surest first (confident learning, Northcutt et al. 2021).

    A row is named when the probability of its label is below the mean that this class's rows have, while another class
    reaches the mean of its own rows. The probabilities must be out of fold, or the model has learnt the errors.

    Args:
        probabilities: float [rows, classes]; a row with anything but finite numbers is passed over.
        labels: the given class of each row, as a column number.

    Raises:
        InputError: shapes that do not fit, or a label that is no column.
    """
    matrix = np.asarray(probabilities, dtype=np.float64)
    given = np.asarray(labels, dtype=np.int64)
    if not given.size:
        return []
    if matrix.ndim != 2 or given.ndim != 1 or len(matrix) != len(given):
        raise InputError(f"probabilities of shape {matrix.shape} do not fit {given.size} labels")
    if given.min() < 0 or given.max() >= matrix.shape[1]:
        raise InputError(f"a label is none of the {matrix.shape[1]} columns")
    usable = np.isfinite(matrix).all(axis=1)
    expected = _mean_self_confidence(matrix[usable], given[usable])
    found = [
        error
        for place in np.flatnonzero(usable).tolist()
        if (error := _likely_error(place, matrix[place], int(given[place]), expected)) is not None
    ]
    return sorted(found, key=lambda error: (-error.sure, error.place))


def _mean_self_confidence(matrix: npt.NDArray[np.float64], given: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Per class; infinite for a class without a row, so that it is never suggested."""
    means = np.full(matrix.shape[1], np.inf)
    for label in np.unique(given):
        means[label] = matrix[given == label, label].mean()
    return means


def _likely_error(
    place: int, row: npt.NDArray[np.float64], label: int, expected: npt.NDArray[np.float64]
) -> LikelyError | None:
    confident = row >= expected
    if confident[label] or not confident.any():
        return None
    suggested = int(np.argmax(np.where(confident, row, -np.inf)))
    sure = float(row[suggested] - row[label])
    if sure <= 0:
        return None
    return LikelyError(place, label, suggested, float(row[label]), float(expected[label]), sure)


# ---- keys ----------------------------------------------------------------------------------------------------------

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


# ---- the session ---------------------------------------------------------------------------------------------------


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
        found = {scheme: self.answers.get((item, scheme)) for scheme in self.taxonomy.schemes}
        return {scheme: answer.values[0] for scheme, answer in found.items() if answer and len(answer.values) == 1}

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


# ---- the journal ---------------------------------------------------------------------------------------------------

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
    found, bad = [], 0
    for line in lines:
        if not line.strip():
            continue
        entry = _entry(line)
        if entry is None:
            bad += 1
        else:
            found.append(entry)
    return found, bad


def _entry(line: bytes) -> Entry | None:
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict):
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
class Told:
    """What a journal says in the end."""

    answers: Mapping[tuple[str, Key, str], Answer | None]
    """(annotator, item, scheme) -> answer; ``None`` where it was withdrawn."""
    notes: Mapping[tuple[str, Key], str]
    unknown: int
    """Labels of schemes or classes that the taxonomy does not have (any more); they are left alone."""


def fold(entries: Iterable[Entry], taxonomy: Taxonomy) -> Told:
    """Bring a journal to its last word on every question."""
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
    return Told(answers, notes, unknown)


def _is_known(entry: Entry, taxonomy: Taxonomy) -> bool:
    scheme = taxonomy.schemes.get(entry.scheme)
    return scheme is not None and set(entry.values) <= set(scheme.names())
