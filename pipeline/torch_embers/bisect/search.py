"""The search of a bisection: pure, over the places of an ordered list and an asker that says yes, no or unknown.

The key insight: only a clean answer can be wrong by bad luck, and in a search by halves a wrong clean answer always
ends as the clean side of the change that is reported. So that side is asked again, and no other place needs to be.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import InitVar, dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from torch_embers.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from torch_embers.bisect.thresholds import SearchThresholds

Answer = Literal["yes", "no", "unknown"]
Why = Literal[
    "endpoint", "said to be bad", "midpoint", "second batch", "validation", "verification", "now with a control"
]
Kind = Literal["broken", "fixed", "broken and fixed", "several", "always", "never", "cannot tell"]
"""``several``: more than one range of builds shows the bug, or it came back."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What is known of one place.

    Attributes:
        answer: whether the bug is there.
        hits: runs that showed it.
        runs: runs that could have shown it.
        confidence: probability that the answer is not a bug missed by bad luck; 1 for ``yes``.
        detail: what was seen, in words.
        known: taken from an earlier measurement, not asked now.
        ran: whether there was a build to run.
        asked_on: day of an earlier, interrupted search that asked; empty where it was asked now.
    """

    answer: Answer
    hits: int = 0
    runs: int = 0
    confidence: float = 1.0
    detail: str = ""
    known: bool = False
    ran: bool = True
    asked_on: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One question and its reply, in the order of asking."""

    place: int
    why: Why
    reply: Reply


@dataclass(frozen=True, slots=True)
class BehaviourChange:
    """Two places with different answers between which nothing could be decided.

    Attributes:
        kind: ``broken`` where the bug begins, ``fixed`` where it ends.
        before: last place of the old behaviour.
        after: first place of the new one.
        skipped: places between that could not be tested.
    """

    kind: Literal["broken", "fixed"]
    before: int
    after: int
    skipped: tuple[int, ...] = ()

    @property
    def clean(self) -> int:
        """The side without the bug."""
        return self.before if self.kind == "broken" else self.after


@dataclass(frozen=True, slots=True)
class History:
    """What a search found.

    Attributes:
        kind: the answer.
        changes: in order; also where the kind is ``cannot tell``, for the record.
        ranges: first and last place of each range of decided places that show the bug.
        confidence: product over all clean replies that the answer rests on; 1 where there is none.
        reason: why it cannot be told; empty otherwise.
        replies: by place, what is known; untested places are left out.
        steps: what was asked, in order.
    """

    kind: Kind
    changes: tuple[BehaviourChange, ...]
    ranges: tuple[tuple[int, int], ...]
    confidence: float
    reason: str
    replies: Mapping[int, Reply]
    steps: tuple[Step, ...]

    @property
    def asked(self) -> set[int]:
        """Places where runs were made; a build that is not installed has none."""
        return {step.place for step in self.steps if step.reply.ran}


class ContradictedError(InputError):
    """A place that was said to be good or bad is not: there is nothing to search between such ends."""

    def __init__(self, place: int, reply: Reply) -> None:
        super().__init__(f"place {place}: {reply.answer}")
        self.place, self.reply = place, reply


@dataclass(slots=True)
class Search:
    """Finds where the answer changes.

    Attributes:
        count: length of the list, oldest first.
        ask: asks about a place, a second time by a fresh batch of runs; what it raises ends the search.
        rules: the numbers.
        draw: chooses a place for the validation.
        known: what is known before; a known place is asked only where a change rests on it.
        said_bad: places that are said to show the bug, the likeliest first; asked before all others, because a build
            that shows the bug is the control of those that do not.
        own_control: whether the first place that shows the bug is the control of the others; clean places that were
            asked before it are then asked again.
    """

    count: int
    ask: Callable[[int], Reply]
    rules: SearchThresholds
    draw: Callable[[Sequence[int]], int]
    known: InitVar[Mapping[int, Reply] | None] = None
    said_bad: Sequence[int] = ()
    own_control: bool = False
    _replies: dict[int, Reply] = field(init=False)
    _steps: list[Step] = field(default_factory=list, init=False)
    _batches: dict[int, int] = field(default_factory=dict, init=False)
    _lost: Counter[int] = field(default_factory=Counter, init=False)

    def __post_init__(self, known: Mapping[int, Reply] | None) -> None:
        """Begin with what is known."""
        self._replies = dict(known or {})

    def run(self, expected: Mapping[int, Answer] | None = None) -> History:
        """Search.

        Args:
            expected: answers that the caller vouches for; they are verified first.

        Raises:
            ContradictedError: a place answers otherwise than the caller says.
        """
        for place, answer in sorted((expected or {}).items(), key=lambda said: said[1] != "yes"):
            reply = self._put(place, "endpoint")
            if reply.answer != answer:
                raise ContradictedError(place, reply)
        if not self._is_said("yes"):
            self._claims()
        self._endpoints()
        while self._repeat_uncontrolled() or self._settle() or self._validate():
            pass
        return self._history()

    # ---- asking ------------------------------------------------------------------------------------------------

    def _put(self, place: int, why: Why) -> Reply:
        fresh = self.ask(place)
        self._batches[place] = self._made(place) + 1
        if why == "second batch" and self._is_lost(fresh) and self._lost[place] < self.rules.repeats:
            self._lost[place] += 1
            self._batches[place] -= 1
        self._steps.append(Step(place, why, fresh))
        old = self._replies.get(place)
        self._replies[place] = fresh if old is None else merged(old, fresh)
        return self._replies[place]

    @staticmethod
    def _is_lost(reply: Reply) -> bool:
        """Whether runs said nothing, as where the control failed: that confirms no clean answer."""
        return reply.ran and reply.answer == "unknown" and not reply.hits

    def _made(self, place: int) -> int:
        """Batches of runs on a place; a reply that was asked before this search began is one."""
        reply = self._replies.get(place)
        return self._batches.get(place, 0 if reply is None or reply.known else 1)

    def _endpoints(self) -> None:
        """Decide the outermost places; where one cannot be tested, its nearest neighbour that can."""
        for order in (range(self.count), reversed(range(self.count))):
            for place in order:
                reply = self._replies.get(place) or self._put(place, "endpoint")
                if reply.answer != "unknown":
                    break

    def _claims(self) -> None:
        """Ask the places that are said to be bad until one is."""
        for place in self.said_bad:
            if place not in self._replies and self._put(place, "said to be bad").answer == "yes":
                return

    def _repeat_uncontrolled(self) -> bool:
        """Ask a clean place again that was asked before there was a control; whether there was one.

        Its first runs are forgotten: they were as many as fit no control.
        """
        asked = [step.place for step in self._steps]
        first = next((n for n, step in enumerate(self._steps) if step.reply.answer == "yes"), None)
        if not self.own_control or first is None:
            return False
        for place in asked[:first]:
            if self._replies[place].answer == "no" and place not in asked[first:]:
                del self._replies[place], self._batches[place]
                self._put(place, "now with a control")
                return True
        return False

    def _settle(self) -> bool:
        """Narrow every pair of places that differ, then ask the clean side again; whether anything was asked."""
        asked = False
        while (pair := next(self._open(), None)) is not None:
            self._put(midpoint(*pair, self._replies), "midpoint")
            asked = True
        for change in self._changes():
            for place in (change.before, change.after):
                if not self._made(place):
                    self._put(place, "verification")
                    return True
            if not self._replies[change.clean].known and self._made(change.clean) <= self.rules.confirm:
                self._put(change.clean, "second batch")
                return True
        return asked

    def _validate(self) -> bool:
        """Ask at random outside the ranges found; whether anything was asked."""
        untested = [place for place in range(self.count) if place not in self._replies]
        if not untested or not self._decided():
            return False
        done = sum(step.why == "validation" and step.reply.answer != "unknown" for step in self._steps)
        everything = not self._changes() and self.count <= self.rules.exhaustive
        if done >= self.rules.validation and not everything:
            return False
        self._put(self.draw(untested), "validation")
        return True

    # ---- what is known -------------------------------------------------------------------------------------------

    def _is_said(self, answer: Answer) -> bool:
        return any(reply.answer == answer for reply in self._replies.values())

    def _decided(self) -> list[int]:
        return sorted(place for place, reply in self._replies.items() if reply.answer != "unknown")

    def _differing(self) -> Iterator[tuple[int, int]]:
        for low, high in pairwise(self._decided()):
            if self._replies[low].answer != self._replies[high].answer:
                yield low, high

    def _open(self) -> Iterator[tuple[int, int]]:
        """Pairs that differ with an untested place between."""
        for low, high in self._differing():
            if any(place not in self._replies for place in range(low + 1, high)):
                yield low, high

    def _changes(self) -> list[BehaviourChange]:
        return [
            BehaviourChange(
                "fixed" if self._replies[low].answer == "yes" else "broken", low, high, tuple(range(low + 1, high))
            )
            for low, high in self._differing()
        ]

    def _history(self) -> History:
        changes = tuple(self._changes())
        rests_on = {step.place for step in self._steps} | {change.clean for change in changes}
        decided = self._decided()
        confidence = math.prod(self._replies[place].confidence for place in rests_on.intersection(decided) or decided)
        kind, reason = self._kind(changes, confidence)
        return History(
            kind, changes, self._ranges(), confidence, reason, dict(sorted(self._replies.items())), tuple(self._steps)
        )

    def _kind(self, changes: Sequence[BehaviourChange], confidence: float) -> tuple[Kind, str]:
        if not self._decided():
            return "cannot tell", "no build could be tested"
        if not self._is_said("yes") and self.said_bad:
            return "cannot tell", "a build that is said to show the bug does not show it here, or cannot be tested"
        if not self._is_said("yes") and any(reply.hits for reply in self._replies.values()):
            return "cannot tell", "a run showed the bug, but no build showed it often enough to be sure"
        if confidence < self.rules.level:
            return "cannot tell", f"the clean runs are too few: the confidence is below {self.rules.level:g}"
        match [change.kind for change in changes]:
            case []:
                return ("always" if self._is_said("yes") else "never"), ""
            case [only]:
                return only, ""
            case ["broken", "fixed"]:
                return "broken and fixed", ""
            case _:
                return "several", ""

    def _ranges(self) -> tuple[tuple[int, int], ...]:
        ranges: list[tuple[int, int]] = []
        bad = False
        for place in self._decided():
            if self._replies[place].answer == "yes":
                ranges = [*ranges[:-1], (ranges[-1][0], place)] if bad else [*ranges, (place, place)]
            bad = self._replies[place].answer == "yes"
        return tuple(ranges)


def merged(old: Reply, fresh: Reply) -> Reply:
    """What two batches on one place say together: no hit is forgotten; without any, what is unknown adds nothing."""
    if fresh.answer == "unknown" and (not fresh.hits or (old.known and old.answer == "yes")):
        return old
    if old.known or (old.answer == "unknown" and not old.hits):
        return fresh
    hits, runs = old.hits + fresh.hits, old.runs + fresh.runs
    if "yes" in (old.answer, fresh.answer):
        shown = old if old.answer == "yes" else fresh
        return replace(shown, hits=hits, runs=runs, confidence=1.0)
    if hits:
        return replace(old if old.hits else fresh, answer="unknown", hits=hits, runs=runs, confidence=1.0)
    return replace(fresh, hits=hits, runs=runs, confidence=1 - (1 - old.confidence) * (1 - fresh.confidence))


def midpoint(low: int, high: int, replies: Mapping[int, Reply]) -> int:
    """The untested place nearest to the stabilised middle between two places.

    The middle is the place with the highest power of two between them: different bisections ask the same builds, and
    the number of steps stays at ceil(log2) of the whole list.
    """
    middle = max(range(low + 1, high), key=lambda place: (place & -place, -place))
    untested = [place for place in range(low + 1, high) if place not in replies]
    return min(untested, key=lambda place: (abs(place - middle), place))
