"""Which part of a repository a mine covers; shared by all sources that can narrow."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from torch_embers.errors import InputError
from torch_embers.normalize import iso_utc

STATES = ("all", "open", "closed")
LISTED = ("issues", "pulls", "items", "items_newest_first", "comments", "review_comments", "events")
"""Streams of the live sources that read listings; the others read single items."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Bounds of a mine. ``since`` and ``until`` bound the time of the last change, as GitHub's own ``since`` does."""

    repo: str
    since: str | None = None
    until: str | None = None
    state: str = "all"
    labels: tuple[str, ...] = ()

    @property
    def narrowed(self) -> bool:
        """Whether anything but the repository bounds the mine."""
        return bool(self.since or self.until or self.labels or self.state != "all")

    def stream(self, name: str) -> str:
        """Name of a stream's cursor: a narrowed mine keeps its own, so that it cannot disturb the full one."""
        if not self.narrowed:
            return name
        bounds = json.dumps([self.since, self.until, self.state, self.labels])
        return f"{name}:{hashlib.blake2b(bounds.encode(), digest_size=4).hexdigest()}"

    def has(self, stream: str) -> bool:
        """Whether a saved cursor belongs to a listing in these bounds."""
        name = stream.partition(":")[0]
        return name in LISTED and stream == self.stream(name)


def moment(value: str | None, option: str) -> str | None:
    """Check a date or time given on the command line.

    Raises:
        InputError: not a date.
    """
    if value is None:
        return None
    parsed = iso_utc(value)
    if parsed is None:
        raise InputError(f"{option} {value!r} is no date: write 2024-01-31 or 2024-01-31T12:00:00Z")
    return parsed[:19] + "Z"


def scope(repo: str, since: str | None, until: str | None, state: str, labels: tuple[str, ...]) -> Scope:
    """Build a scope from what the user typed.

    Raises:
        InputError: an unknown state, a bad date, or bounds in the wrong order.
    """
    if state not in STATES:
        raise InputError(f"--state {state!r}: one of {', '.join(STATES)}")
    bounds = Scope(repo, moment(since, "--since"), moment(until, "--until"), state, labels)
    if bounds.since and bounds.until and bounds.since > bounds.until:
        raise InputError(f"--since {bounds.since} is later than --until {bounds.until}")
    return bounds
