"""The status of an item: what its state in the tracker and the verdicts of its cases say together.

Pure, but for ``tracked_items``.

Any testable case that occurs decides for occurs; an absence needs all testable cases absent, and no other case that
occurred when it was last testable. Some statuses claim something of the item itself (``CLAIMS``): only a case that is
the report's own can carry them, and of closed items only an issue that was closed as fixed. What other cases show gets
a status that speaks of cases alone. ``fixed`` and
``open_but_absent`` claim that something is not there: a re-check makes them only after a second fresh batch.

Where no case is the report's own, its script may speak: ``status_of_timeline``.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from torch_embers.timeline.model import GAPS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    import duckdb

    from torch_embers.cases.case import Case
    from torch_embers.timeline.model import Segment, Timeline
    from torch_embers.verdicts.verdict import Verdict

ItemKey = tuple[str, int]
"""Repository and number."""
BackendKey = tuple[str, int, str]
"""Repository, number and backend."""

Status = Literal[
    "open_and_occurs",
    "open_but_absent",
    "closed_but_occurs",
    "declined_occurs",
    "undecided_occurs",
    "undecided_absent",
    "fixed",
    "regressed",
    "undecided",
    "never_reproduced",
    "untestable_here",
]
STATUSES: tuple[Status, ...] = get_args(Status)
WORDS: dict[str, str] = {
    "open_and_occurs": "open, and it occurs",
    "open_but_absent": "open, and its own case is gone",
    "closed_but_occurs": "closed as fixed, and it occurs",
    "declined_occurs": "it occurs, and it was closed without the promise of a fix",
    "undecided_occurs": "it occurs, but why it was closed is not known, or only another input shows it",
    "undecided_absent": "its case is clean, but in one batch, by another input, or closed for no known reason",
    "fixed": "closed as fixed, and it is gone",
    "regressed": "it was gone, and is there again",
    "undecided": "its runs say nothing together",
    "never_reproduced": "it occurred on no build",
    "untestable_here": "no case of it can be tested here",
}
"""Each in plain words."""
CONFIRMED: tuple[Status, ...] = ("fixed", "open_but_absent")
"""Claims of an absence: they need a second fresh batch of runs."""
ABSENT: tuple[Status, ...] = (*CONFIRMED, "undecided_absent")
CLAIMS: tuple[Status, ...] = ("closed_but_occurs", "regressed", *CONFIRMED)
"""What is said of an item, not of its cases alone."""
OWN_REPORT = ("curated", "fix_test")
"""Origins whose relation ``same`` counts: somebody compared the case with the report, or the fix itself brought it."""
DECLINED = ("declined", "duplicate", "superseded", "stale")
"""Dispositions that promise no fix."""


@dataclass(frozen=True, slots=True)
class Tracked:
    """What the tracker says of an item: open or closed, its disposition where closed, whether it is a pull request."""

    state: str | None
    disposition: str | None = None
    is_pull: bool = False
    title: str = ""

    @property
    def was_fixed(self) -> bool:
        """Whether it is an issue that was closed as fixed."""
        return self.state == "closed" and self.disposition == "fixed" and not self.is_pull

    @property
    def is_claimable(self) -> bool:
        """Whether a status may claim something of it: an issue that is open, or was closed as fixed."""
        return self.was_fixed or (self.state == "open" and not self.is_pull)


def statuses_of(
    cases: Iterable[Case],
    items: Mapping[ItemKey, Tracked],
    verdicts: Mapping[str, Sequence[Verdict]],
    occurred: Collection[str] = (),
) -> dict[BackendKey, Status]:
    """The status of every item that has a case with a verdict on the reference build, per backend.

    Args:
        cases: the cases.
        items: the items of the tracker.
        verdicts: by case hash, verdicts on builds up to the reference build, oldest first; the last one is of it.
        occurred: hashes of cases that occurred elsewhere, on another machine or build: they have been reproduced.
    """
    of_item: dict[BackendKey, dict[str, Sequence[Verdict]]] = defaultdict(dict)
    same: dict[ItemKey, set[str]] = defaultdict(set)
    for case in cases:
        for key, relation in case.relations.items():
            if relation == "same" and case.origin in OWN_REPORT:
                same[key].add(case.hash)
        if case.hash in verdicts:
            for repo, number in reported(case, items):
                of_item[repo, number, case.device][case.hash] = verdicts[case.hash]
    unknown = Tracked(None)
    made = {key: status_of(items.get(key[:2], unknown), seen, same[key[:2]]) for key, seen in sorted(of_item.items())}
    return {
        key: "undecided" if status == "never_reproduced" and not of_item[key].keys().isdisjoint(occurred) else status
        for key, status in made.items()
    }


def reported(case: Case, items: Mapping[ItemKey, Tracked]) -> list[ItemKey]:
    """The items that a case speaks for: a pull request beside an issue is its fix and is not reported a second time."""
    pulls = {key for key in case.issues if key in items and items[key].is_pull}
    return [key for key in case.issues if key not in pulls or len(pulls) == len(case.issues)]


def tracked_items(connection: duckdb.DuckDBPyConnection) -> dict[ItemKey, Tracked]:
    """The items that have a case or a timeline, as the tracker has them."""
    stored = connection.execute(
        "SELECT i.repo, i.number, i.state, d.disposition, i.kind = 'pull', i.title FROM items i "
        "SEMI JOIN (SELECT repo, number FROM case_items UNION SELECT repo, number FROM timelines) USING (repo, number) "
        "LEFT JOIN item_dispositions d USING (repo, number)"
    ).fetchall()
    return {
        (repo, number): Tracked(state, disposition, bool(is_pull), title or "")
        for repo, number, state, disposition, is_pull, title in stored
    }


def status_of(item: Tracked, verdicts: Mapping[str, Sequence[Verdict]], same: Collection[str] = ()) -> Status:
    """The status of an item on one backend.

    Args:
        item: the item in the tracker.
        verdicts: by case, its verdicts on all builds up to the reference build, oldest first; the last one is of the
            reference build. Cases without a verdict there are left out. One that is untestable there says nothing,
            but where it occurred when it was last testable, no other case can show an absence.
        same: the cases whose relation to the item is ``same``: only they can carry one of ``CLAIMS``.
    """
    testable = {case: seen for case, seen in verdicts.items() if seen and seen[-1] != "untestable"}
    if not testable:
        return "untestable_here"
    now = {seen[-1] for seen in testable.values()}
    own = [testable[case] for case in same if case in testable]
    if "occurs" in now:
        return _occurs(item, own)
    ever = any("occurs" in seen for seen in verdicts.values())
    if any(_last_decided(seen) == "occurs" for case, seen in verdicts.items() if case not in testable):
        return "undecided"  # it occurred when it was last tested: nobody knows whether it is gone
    if now == {"absent"} and ever and item.state in ("open", "closed"):
        return _absent(item, own)
    if not ever and now <= {"absent", "not_seen"}:
        return "never_reproduced"
    return "undecided"


def _occurs(item: Tracked, own: Collection[Sequence[Verdict]]) -> Status:
    here = [seen for seen in own if seen[-1] == "occurs"]
    if item.is_claimable and any(map(came_back, here)):
        return "regressed"
    if item.state == "open":
        return "open_and_occurs"
    if item.state != "closed":
        return "undecided"
    if item.disposition in DECLINED and not item.is_pull:
        return "declined_occurs"
    return "closed_but_occurs" if item.was_fixed and here else "undecided_occurs"


def _absent(item: Tracked, own: Collection[Sequence[Verdict]]) -> Status:
    if not item.is_claimable or not any("occurs" in seen for seen in own):
        return "undecided_absent"
    return "open_but_absent" if item.state == "open" else "fixed"


def status_of_timeline(item: Tracked, timeline: Timeline, *, shown_again: bool) -> Status | None:
    """The status of an item without a case, by what the script of its report does; None where that decides nothing.

    A script claims less than a case, because nobody compared it with the report: only what the report itself quotes
    counts, only on the newest build, and only after a second batch.

    Args:
        item: the item in the tracker.
        timeline: of its script; one that stands for another device says nothing.
        shown_again: whether a second batch on the newest build behaved as the first one.
    """
    if timeline.device or not item.is_claimable or not timeline.behaviours or timeline.segments[-1].ending in GAPS:
        return None
    newest, before = timeline.behaviours[-1], timeline.behaviours[:-1]
    if newest.match == "as_reported":
        return "closed_but_occurs" if item.was_fixed and shown_again else None
    reported = max((place for place, one in enumerate(before) if one.match == "as_reported"), default=None)
    if newest.match is None or reported is None or not is_gone(before[reported], newest):
        return None
    if not all(later.confirmed for later in timeline.behaviours[reported + 1 :]):
        return None
    return "open_but_absent" if item.state == "open" else "fixed"


def is_gone(before: Segment, now: Segment) -> bool:
    """Whether what was reported is gone, and no other wrong answer is in its place."""
    if now.match == "as_expected" or (now.ending == "ok" and before.ending != "ok"):
        return True
    return before.ending == "signal" and now.ending == "exception"


def withdrawn(status: Status, item: Tracked, *, has_own: bool) -> Status:
    """A status of earlier rules or facts, as far as an item can carry it now; its verdicts are not looked at again.

    Args:
        status: what was derived.
        item: the item, as the tracker has it now.
        has_own: whether a case on that backend is the report's own; of a bug that occurs, one that showed it.
    """
    if status not in CLAIMS or (has_own and _can_carry(item, status)):
        return status
    return "undecided_absent" if status in CONFIRMED else _occurs(item, ())


def _can_carry(item: Tracked, status: Status) -> bool:
    """Whether the tracker says of an item what a claim rests on."""
    if status == "open_but_absent":
        return item.state == "open" and not item.is_pull
    return item.is_claimable if status == "regressed" else item.was_fixed


def _last_decided(seen: Sequence[Verdict]) -> Verdict | None:
    """The last verdict that says whether the bug is there."""
    return next((v for v in reversed(seen) if v in ("occurs", "absent")), None)


def came_back(seen: Sequence[Verdict]) -> bool:
    """Whether a bug occurred, was shown to be absent, and occurs again on the last build.

    ``absent`` always rests on a control that reproduced, so the gap is real.
    """
    if not seen or seen[-1] != "occurs":
        return False
    decided = [v for v in seen if v in ("occurs", "absent")]
    gap = max((place for place, v in enumerate(decided) if v == "absent"), default=0)
    return "occurs" in decided[:gap]


def expected_false(claims: int, miss: float) -> float:
    """False absences to expect among announced ones, if hit rates are no lower than their bounds: two batches each."""
    return claims * miss * miss
