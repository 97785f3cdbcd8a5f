"""The list that a bisection searches: releases or nightlies in order, installed or not, and what is known of each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from packaging.version import InvalidVersion, Version

from torch_embers.bisect.replies import reply_of
from torch_embers.builds.registry import CURRENT, BuildError
from torch_embers.verdicts.verdict import Control, Decision

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from torch_embers.bisect.search import Reply
    from torch_embers.builds.registry import Build
    from torch_embers.statistics.absence import Rules
    from torch_embers.verdicts.matrix import Entry
    from torch_embers.verdicts.verdict import ControlKind, Verdict


@dataclass(frozen=True, slots=True)
class Place:
    """One build of the list.

    Attributes:
        version: its public version, as people name it.
        build: the installed build; None where there is none.
        addresses: of a nightly, where its wheel may be: a file, or addresses of which the first that answers counts.
        commit: commit that it was built from, where that is known before it is installed.
        alike: nightlies of the same source, which stand in where this one cannot be had.
    """

    version: str
    build: Build | None = None
    addresses: tuple[str, ...] = ()
    commit: str = ""
    alike: tuple[Place, ...] = ()

    @property
    def commit_known(self) -> str:
        """The commit, as the build or its index says."""
        return self.build.git_commit if self.build is not None else self.commit

    @property
    def stand_in(self) -> Place | None:
        """The next nightly of the same source; None where there is no other."""
        return replace(self.alike[0], alike=self.alike[1:]) if self.alike else None


def releases(installed: Sequence[Build], known: Collection[str] = ()) -> list[Place]:
    """The installed releases and those of which something is known, oldest first, one build for each.

    A nightly or a local build stands in no order among releases and is left out, and so is the torch of this
    environment where its release is registered beside it.
    """
    own: dict[str, Build] = {}
    for build in sorted(installed, key=lambda b: (b.name != CURRENT, b.used_at)):
        if build.channel == "release":
            own[build.public_version] = build
    versions = {text for text in (*own, *known) if _is_version(text)}
    return [Place(version, own.get(version)) for version in sorted(versions, key=Version)]


def place_of(places: Sequence[Place], version: str) -> int:
    """Where a version stands in the list.

    Raises:
        BuildError: nowhere; the message names those there are.
    """
    for position, place in enumerate(places):
        names = (place.build.name, place.build.version) if place.build else ()
        if version in (place.version, *names):
            return position
    known = ", ".join(place.version for place in places) or "none"
    raise BuildError(f"no build {version!r} to search: there are {known} (`embers builds add {version}` adds one)")


def known_replies(places: Sequence[Place], entries: Sequence[Entry], rules: Rules) -> dict[int, Reply]:
    """What earlier verdicts say of places; where environments differ on one build, the bug is there.

    Clean runs without a control say nothing where another build is known to show the bug.
    """
    occurs = any(entry.verdict == "occurs" for entry in entries)
    position = {place.version: number for number, place in enumerate(places)}
    replies: dict[int, Reply] = {}
    for entry in entries:
        reply = reply_of(decision_of(entry), rules, known=True)
        if entry.verdict == "not_seen" and occurs:
            reply = replace(reply, answer="unknown", confidence=1.0)
        if entry.build in position:
            place = position[entry.build]
            replies[place] = _together(replies.get(place, reply), reply)
    return replies


def _together(one: Reply, other: Reply) -> Reply:
    """What two environments say of one build: one that decides counts, and a bug that one of them shows is there."""
    if other.answer in (one.answer, "unknown"):
        return one
    if one.answer == "unknown":
        return other
    shows = one if one.answer == "yes" else other
    said = ", clean in another environment"
    return shows if shows.detail.endswith(said) else replace(shows, detail=shows.detail + said)


def decision_of(entry: Entry) -> Decision:
    """A stored verdict as the decision that it was."""
    kind = cast("ControlKind", entry.control)
    control = Control(kind, entry.control_build, entry.control_k, entry.control_n)
    return Decision(
        cast("Verdict", entry.verdict),
        entry.flaky,
        entry.k,
        entry.n,
        entry.detectable_rate,
        control,
        entry.detail,
        None,
    )


def said_bad(places: Sequence[Place], versions: Mapping[str, object] | Sequence[str]) -> list[int]:
    """Places of versions on which somebody measured the bug, the newest first."""
    wanted = {Version(text) for text in versions}
    return [n for n in reversed(range(len(places))) if Version(places[n].version) in wanted]


def _is_version(text: str) -> bool:
    try:
        return not Version(text).is_devrelease
    except InvalidVersion:
        return False
