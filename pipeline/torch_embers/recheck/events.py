"""Which changes of statuses are announced: each once, gaps in between ignored, flapping damped. Pure.

A status says that a bug occurs, that it is absent, or neither (`undecided`, `untestable_here`, `undecided_absent`,
...). What says neither is a gap: a build that cannot be imported makes every case untestable, and is no news of any
bug. So a status is compared with the last one that did say something. `undecided_occurs` is such a gap in what is said
of an item, though not in whether its bug is there: a reader's answer that goes back and forth repeats nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING, Literal, get_args

from pydantic import Field

from torch_embers.toml_models import Entry, Explained, load
from torch_embers.verdicts.status import CONFIRMED

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from torch_embers.verdicts.status import Status

FILE = "recheck.toml"

Kind = Literal["regressed", "fixed", "closed_but_occurs", "open_but_absent", "flapping", "flip"]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""What is announced, in the order of reports: statuses, an item whose status changes back and forth, and a report whose
script behaves otherwise on a build than on those before."""
GONE: frozenset[str] = frozenset(CONFIRMED)
THERE = frozenset({"open_and_occurs", "closed_but_occurs", "declined_occurs", "undecided_occurs", "regressed"})
SILENT = frozenset({"undecided_occurs"})
"""The bug is there and nothing is said of its item: an answer of a reader or of the tracker is missing or in doubt."""


class Flapping(Explained):
    """``[flapping]``: how often a bug comes and goes before it is announced as flapping."""

    turns: int = Field(gt=1)
    days: float = Field(gt=0)


class Feed(Explained):
    """``[feed]``: how long the Atom feed is."""

    entries: int = Field(gt=0)


class Annotations(Explained):
    """``[annotations]``: how many annotations a run makes."""

    most: int = Field(gt=0)


class RecheckRules(Entry):
    """``data/recheck.toml``."""

    flapping: Flapping
    feed: Feed
    annotations: Annotations


@cache
def rules() -> RecheckRules:
    """Read the file.

    Raises:
        InputError: it is missing or an entry is wrong.
    """
    return load(RecheckRules, FILE)


@dataclass(slots=True)
class History:
    """What is known of an item on a backend, in the order in which it became known: a clock may have been wrong.

    Attributes:
        statuses: every change of its status, and when.
        announced: every kind that was announced, and when.
    """

    statuses: list[tuple[datetime, str]] = field(default_factory=list)
    announced: list[tuple[datetime, str]] = field(default_factory=list)

    @property
    def status(self) -> str | None:
        """The newest status."""
        return self.statuses[-1][1] if self.statuses else None

    @property
    def flaps(self) -> bool:
        """Whether it was announced as flapping, and nothing since."""
        return bool(self.announced) and self.announced[-1][1] == "flapping"

    @property
    def came_back(self) -> bool:
        """Whether it was `regressed` since it was last gone.

        What shows that a bug came back is a build on which it was gone. Nightly builds vanish, and then the status is
        that of any bug that is there; the bug did not come anew.
        """
        here = takewhile(lambda s: s not in GONE, (status for _, status in reversed(self.statuses)))
        return "regressed" in here


def turns(statuses: Sequence[tuple[datetime, str]], since: datetime, now: datetime) -> int:
    """How often a bug that was there was gone, or the other way round, between two moments; gaps count for nothing.

    A turn that is dated later than now was written under a wrong clock: nobody knows how long ago that is, and it is
    not counted.
    """
    decided = [(moment, status in GONE) for moment, status in statuses if status in GONE or status in THERE]
    pairs = pairwise(decided)
    return sum(before != after for (_, before), (moment, after) in pairs if since <= moment <= now)


def kind_of(history: History, status: Status, moment: datetime, limits: Flapping) -> Kind | None:
    """What is announced of an item that has this status now; None where nothing is.

    Args:
        history: what was known of it before.
        status: what it is now.
        moment: now.
        limits: when an item flaps.
    """
    since = moment - timedelta(days=limits.days)
    if history.flaps and turns(history.statuses, since, moment):
        return None
    if turns([*history.statuses, (moment, status)], since, moment) >= limits.turns:
        return "flapping"
    if history.flaps:
        return _announced(status)  # it has settled
    known = next((s for _, s in reversed(history.statuses) if s in GONE or s in THERE - SILENT), None)
    if status == known or (status in THERE and history.came_back):
        return None
    return _announced(status)


def _announced(status: Status) -> Kind | None:
    """A status as what is announced; None for those that are no news."""
    return next((kind for kind in KINDS if kind == status), None)
