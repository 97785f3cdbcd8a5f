"""The status of an item: what its state in the tracker and the verdicts of its cases say together. Pure.

Any testable case that occurs decides for occurs; an absence needs all testable cases absent. ``fixed`` and
``open_but_absent`` claim that something is not there: a re-check makes them only after a second fresh series.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch_embers.run.verdict import Verdict

Status = Literal[
    "open_and_occurs",
    "open_but_absent",
    "closed_but_occurs",
    "declined_occurs",
    "fixed",
    "regressed",
    "undecided",
    "never_reproduced",
    "untestable_here",
]
STATUSES: tuple[Status, ...] = (
    "open_and_occurs",
    "open_but_absent",
    "closed_but_occurs",
    "declined_occurs",
    "fixed",
    "regressed",
    "undecided",
    "never_reproduced",
    "untestable_here",
)
ANNOUNCED: tuple[Status, ...] = ("regressed", "fixed", "closed_but_occurs", "open_but_absent")
"""Changes into these are told."""
CONFIRMED: tuple[Status, ...] = ("fixed", "open_but_absent")
"""Claims of an absence: they need a second fresh series of runs."""
DECLINED = ("not_planned", "duplicate")
"""Reasons of closing that promise no fix."""


@dataclass(frozen=True, slots=True)
class Tracked:
    """What the tracker says of an item: open or closed, and why; whether it is a pull request."""

    state: str | None
    reason: str | None
    is_pull: bool = False


def status_of(item: Tracked, verdicts: Mapping[str, Sequence[Verdict]]) -> Status:
    """The status of an item on one backend.

    Args:
        item: the item in the tracker.
        verdicts: by case, its verdicts on all builds up to the reference build, oldest first; the last one is of the
            reference build. Cases without a verdict there are left out.
    """
    testable = {case: seen for case, seen in verdicts.items() if seen and seen[-1] != "untestable"}
    if not testable:
        return "untestable_here"
    now = {seen[-1] for seen in testable.values()}
    if "occurs" in now:
        if any(came_back(seen) for seen in testable.values()):
            return "regressed"
        return _occurs(item)
    ever = any("occurs" in seen for seen in testable.values())
    if now == {"absent"} and ever and item.state in ("open", "closed"):
        return "open_but_absent" if item.state == "open" else "fixed"
    if not ever and now <= {"absent", "not_seen"}:
        return "never_reproduced"
    return "undecided"


def _occurs(item: Tracked) -> Status:
    if item.state == "open":
        return "open_and_occurs"
    if item.state == "closed":
        return "declined_occurs" if item.reason in DECLINED else "closed_but_occurs"
    return "undecided"


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
    """False absences to expect among announced ones, if hit rates are no lower than their bounds: two series each."""
    return claims * miss * miss
