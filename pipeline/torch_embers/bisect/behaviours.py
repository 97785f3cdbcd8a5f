"""A report's script, searched between two behaviours: that of builds before a flip, and that of builds after it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from torch_embers.bisect.measuring import sandbox_runs
from torch_embers.bisect.places import place_of
from torch_embers.errors import InputError
from torch_embers.sandbox.policy import HOSTILE
from torch_embers.timeline.behaviour import behaviour, same
from torch_embers.timeline.item_script import borders, installed
from torch_embers.timeline.model import Observation
from torch_embers.timeline.observe import observe
from torch_embers.timeline.sentence import does
from torch_embers.verdicts.verdict import Observation as Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import duckdb

    from torch_embers.bisect.places import BuildList
    from torch_embers.bisect.request import BisectRequest
    from torch_embers.builds.registry import Build
    from torch_embers.builds.work import Machine
    from torch_embers.timeline.behaviour import Behaviour
    from torch_embers.timeline.item_script import ItemScript
    from torch_embers.timeline.model import Segment, Timeline

SIDE_RUNS = 5
"""Runs of a side of which no observation is known."""
ENDINGS = ("signal", "exception", "timeout", "out_of_memory", "exit", "mixed")
_SEEN = """
SELECT ending, what, message, frame, printed, threads, seed FROM observations
WHERE script = ? AND environment = ? AND split_part(version, '+', 1) = ? ORDER BY batch, seed, attempt
"""


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two behaviours.

    Attributes:
        version: release that stands for it.
        does: what the script does there, in a few words; empty where nobody ran it yet.
        seen: what is known of its runs; none where nobody ran it here.
    """

    version: str
    does: str
    seen: tuple[Observation, ...]

    def __str__(self) -> str:
        """The release, with what happens there."""
        return f"{self.version} (where it {self.does})" if self.does else self.version


@dataclass(frozen=True, slots=True)
class Sides:
    """The behaviours between which is searched; what has ``bad`` is what a search calls the bug."""

    item: ItemScript
    bad: Side
    good: Side

    @property
    def question(self) -> str:
        """What each build is asked, as a sentence."""
        return f"Asked of each build: does the script of {self.item.name} behave as on {self.bad} or as on {self.good}?"


def sides_of(
    connection: duckdb.DuckDBPyConnection,
    item: ItemScript,
    timeline: Timeline | None,
    builds: Sequence[Build],
    request: BisectRequest,
) -> Sides:
    """The behaviours of ``--good`` and ``--bad`` where both are given, else those beside the newest flip.

    Raises:
        InputError: the timeline has no flip, or one end alone is given.
    """
    if bool(request.good) is not bool(request.bad):
        raise InputError("a script is searched between two behaviours: give --good and --bad, or neither")
    if request.good:
        bad, good = (_side(connection, item, timeline, version) for version in (request.bad, request.good))
        return Sides(item, bad, good)
    flips = borders(timeline)
    if not flips:
        raise InputError(
            f"the script of {item.name} has no two behaviours to search between: `embers run {item.number} --build "
            "all` runs it on all builds, --good and --bad name two of them"
        )
    before, after = flips[-1]
    ends = installed(before, builds, newest=True), installed(after, builds, newest=False)
    versions = [
        end.public_version if end else segment.versions[place]
        for end, segment, place in zip(ends, flips[-1], (-1, 0), strict=True)
    ]
    old, new = (_side(connection, item, timeline, version) for version in versions)
    return Sides(item, old, new) if _is_bad(before, after) else Sides(item, new, old)


def _is_bad(before: Segment, after: Segment) -> bool:
    """Whether the older behaviour is the one to look for: what was reported, else what is no end of its own."""
    if "as_reported" in (before.match, after.match):
        return before.match == "as_reported"
    return before.ending in ENDINGS and after.ending not in ENDINGS


def _side(connection: duckdb.DuckDBPyConnection, item: ItemScript, timeline: Timeline | None, version: str) -> Side:
    if timeline is None:
        return Side(version, "", ())
    own = next((one for one in timeline.behaviours if version in one.versions), None)
    found = connection.execute(_SEEN, [item.script.hash, timeline.environment, version]).fetchall()
    return Side(version, does(own) if own else "", tuple(Observation(*row) for row in found))


class Compared:
    """Compares runs with the two sides; a side that nobody ran here is run before the first comparison."""

    def __init__(self, sides: Sides, machine: Machine, builds: BuildList, timeout: float | None) -> None:
        self._sides, self._machine, self._builds, self._timeout = sides, machine, builds, timeout
        self._known: dict[str, list[Behaviour]] = {}

    def __call__(self, build: Build, count: int) -> Iterator[Outcome]:
        """The outcomes of runs on a build: ``reproduced`` means as on the bad side."""
        for seen in self._runs(build, count):
            yield self._outcome(seen)

    def _runs(self, build: Build, count: int) -> Iterator[Observation]:
        item, code = self._sides.item, self._sides.item.script.code
        attempts = [item.attempt(str(n), code, n, self._timeout) for n in range(count)]
        for result in sandbox_runs(self._machine, build, attempts, HOSTILE):
            yield replace(observe(result, code), seed=int(result.key))

    def _outcome(self, seen: Observation) -> Outcome:
        one = behaviour([seen])
        told = " ".join(filter(None, (seen.ending, seen.what, seen.message[:120])))
        bad, good = (any(same(one, own) for own in self._of(side)) for side in (self._sides.bad, self._sides.good))
        if good:  # a side that ends in several ways may have runs like the other one: those show nothing
            return Outcome("not_reproduced", None, told)
        return Outcome("reproduced" if bad else "cannot_run", None, told if bad else f"as on neither: {told}")

    def _of(self, side: Side) -> list[Behaviour]:
        """A side as a whole, in which random numbers are known, and each of its runs."""
        if side.version not in self._known:
            build = None if side.seen else self._builds.of(place_of(self._builds.places, side.version))
            seen = side.seen or (tuple(self._runs(build, SIDE_RUNS)) if build else ())
            self._known[side.version] = [behaviour(seen), *(behaviour([one]) for one in seen)] if seen else []
        return self._known[side.version]
