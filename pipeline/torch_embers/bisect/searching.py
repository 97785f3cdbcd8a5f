"""One subject, searched over releases and then over nightlies; each step is kept."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from torch_embers.bisect import nightly, rules, sessions, speed
from torch_embers.bisect.behaviours import Compared
from torch_embers.bisect.build_list import BuildList
from torch_embers.bisect.measuring import CaseMeasure, ExitCodeMeasure, Lasting, doubted, predicate_runs, script_runs
from torch_embers.bisect.places import Place, known_replies, place_of, releases, said_bad
from torch_embers.bisect.replies import Measure, Patient
from torch_embers.bisect.report import SLOW, Bisection, Words, run_places, sentence
from torch_embers.bisect.search import ContradictedError, search
from torch_embers.builds import install
from torch_embers.builds.registry import Build, BuildError, Registry, machine_here
from torch_embers.errors import InputError
from torch_embers.perf import measure as perf
from torch_embers.statistics.absence import Rules
from torch_embers.verdicts import matrix
from torch_embers.verdicts.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from torch_embers.bisect.replies import AskBatch
    from torch_embers.bisect.request import BisectRequest
    from torch_embers.bisect.search import Answer, Reply
    from torch_embers.bisect.sources import Sources
    from torch_embers.bisect.subjects import Subject
    from torch_embers.builds.work import Machine
    from torch_embers.cases.case import Case
    from torch_embers.progress import Progress
    from torch_embers.settings import Settings
    from torch_embers.store.store import Store
    from torch_embers.store.writer import Writer
    from torch_embers.verdicts.verdict import Observation


def _entries(store: Store, case: Case | None) -> list[matrix.Entry]:
    """Earlier verdicts of a case, the own ones first."""
    if case is None:
        return []
    return matrix.preferred([entry for entry in matrix.entries(store) if entry.case == case.name])


def _ends(places: Sequence[Place], request: BisectRequest) -> tuple[list[Place], dict[int, Answer]]:
    """The places between the given ends, and what they are said to answer."""
    said: list[tuple[str, Answer]] = [(request.good, "no"), (request.bad, "yes")]
    given: dict[int, Answer] = {place_of(places, version): answer for version, answer in said if version}
    if len(given) < sum(bool(version) for version, _ in said):
        raise InputError(f"--good {request.good} and --bad {request.bad} are the same build: they must differ")
    if len(given) < len(said):
        return list(places), given
    low, high = min(given), max(given)
    return list(places[low : high + 1]), {place - low: answer for place, answer in given.items()}


class Bisector:
    """One subject, searched over releases and then over nightlies.

    Args:
        sources: what nightlies were built from.
    """

    def __init__(
        self,
        store: Store,
        writer: Writer,
        settings: Settings,
        subject: Subject,
        request: BisectRequest,
        progress: Progress,
        machine: Machine,
        sources: Sources,
    ) -> None:
        self._store, self._writer, self._settings = store, writer, settings
        self._subject, self._progress = subject, progress
        self._request = subject.sides.asked(request) if subject.sides else request
        self._machine, self._sources = machine, sources
        self._good: Build | None = None

    def run(self) -> Bisection:
        """Search the releases, and the nightlies of the last change where an index is given."""
        entries = [] if self._request.fresh else _entries(self._store, self._subject.case)
        sides = self._subject.sides
        ends = (sides.bad.version, sides.good.version) if sides else ()
        known = [
            *(entry.build for entry in entries),
            *ends,
            *(install.known_releases() if self._request.install else ()),
        ]
        places = releases(Registry(self._settings.builds_dir).installed(), known)
        if not self._request.install and not any(place.build for place in places):
            raise BuildError("no build here: `embers builds add VERSION` adds one, --install adds what is needed")
        places, expected = _ends(places, self._request)
        if self._subject.speed is not None and not self._request.good:
            self._good = next((place.build for place in places if place.build), None)
        replies = known_replies(places, entries, Rules.load())
        decided = {place: reply for place, reply in replies.items() if reply.answer != "unknown"}
        made = self._searched(places, decided, expected)
        between = made.last_change if self._request.index else None
        if between is None:
            return made
        try:
            return replace(made, nightlies=self._nightlies(made, between))
        except BuildError as error:  # what the releases showed is worth printing without the nightlies
            self._progress.said(f"no nightlies: {error}")
            return made

    def _nightlies(self, made: Bisection, ends: tuple[Place, Place]) -> Bisection:
        """Search the nightlies between two releases, whose answers are taken over."""
        own = self._index()
        listed = nightly.listing(own, ends[0].version, ends[1].version, self._sources)
        places = [ends[0], *listed, ends[1]]
        change, replies = made.history.changes[-1], made.history.replies
        return self._searched(places, {0: replies[change.before], len(places) - 1: replies[change.after]}, {})

    def _index(self) -> str:
        return install.nightly_index() if self._request.index == install.NIGHTLY else self._request.index

    def _searched(
        self, places: Sequence[Place], known: Mapping[int, Reply], expected: Mapping[int, Answer]
    ) -> Bisection:
        own = rules.load().search
        if self._request.validation is not None:
            own = own.model_copy(update={"validation": self._request.validation})
        builds = BuildList(self._settings, places, self._request, self._index(), self._progress)
        key = self._key(builds)
        batch = Ledger(self._store, self._writer).last_batch() + 1
        anew = self._request.fresh or self._subject.case is None  # what a command found may be different now
        session = sessions.begun(self._store, self._writer, key, self._subject.name, batch, fresh=anew)
        timed = self._subject.speed is not None
        measure = None if timed else self._measure(builds, session)
        measured: AskBatch = (
            Patient(Lasting(measure, self._progress), own, Rules.load()) if measure else self._timing(builds)
        )
        if any(place.addresses for place in places):
            measured = nightly.ByCommit(measured, builds.places, builds.of, self._sources)
        ask = sessions.Remembering(session, self._writer, builds.places, measured)

        def soon(expected: Sequence[int]) -> None:
            if not timed:  # an installation would weigh on what is timed
                builds.prefetch(expected)

        case, shown, words = self._subject.case, self._subject.shown, self._subject.words
        bad = said_bad(places, shown.known_bad) if shown else []
        try:
            found = search(
                len(places), ask, own, _drawn(key), known=known, said_bad=bad, expected=expected,
                own_control=case is None and not timed and self._rated, soon=soon,
            )  # fmt: skip
        except ContradictedError as error:
            raise InputError(_contradiction(error, places[error.place].version, expected, words)) from error
        finally:
            builds.evict()
        found = found if case or timed or self._subject.sides else doubted(found)
        sessions.finish(self._writer, session, found, sentence(found, [one.version for one in builds.places], words))
        return Bisection(
            self._subject.name, self._subject.items, tuple(builds.places), found,
            tuple(builds.environments(run_places(found))), self._subject.script,
            kind=self._subject.kind, sibling_of=self._subject.sibling_of, rated=self._rated,
            session=(session.key, session.number), words=words,
            question=self._subject.sides.question if self._subject.sides else "",
        )  # fmt: skip

    @property
    def _rated(self) -> bool:
        """Whether hits measure a rate: not where each build has one run."""
        return self._subject.kind in ("case", "speed") or self._request.runs != 1

    def _key(self, builds: BuildList) -> str:
        """All that decides what is found: a change of any begins a new session.

        What this search installs does not, so that one that was interrupted goes on with it.
        """
        threads, places = self._subject.case.threads if self._subject.case else 1, builds.places
        request = self._request
        where: list[object] = [
            (place.build.identity, key) if place.build and not (request.install and place.build.managed) else ""
            for place, key in zip(places, builds.environment_keys(threads), strict=True)
        ]
        if request.install:
            where.append(machine_here())
        asked: tuple[object, ...] = (
            request.good, request.bad, request.runs, request.validation, request.fresh, request.timeout,
            request.hang_is,
        )  # fmt: skip
        if self._good is not None:  # what times are held against
            asked = (*asked, self._good.identity)
        return sessions.key_of(
            [self._subject.kind, self._subject.content, [place.version for place in places], where, asked]
        )

    def _timing(self, builds: BuildList) -> speed.SpeedMeasure:
        if self._subject.speed is None:
            raise AssertionError("nothing to time")
        limits = perf.Rules.load().limits
        if self._request.timeout:
            limits = limits.model_copy(update={"timeout": self._request.timeout})

        def good() -> Build | None:
            if self._good is None:  # it may have to be installed first
                self._good = builds.of(place_of(builds.places, self._request.good))
            return self._good

        rounds = self._request.runs or limits.rounds
        return speed.SpeedMeasure(self._subject.speed, builds, good, limits, rounds, self._progress)

    def _measure(self, builds: BuildList, session: sessions.Session) -> Measure:
        own, request, case = rules.load(), self._request, self._subject.case
        if case is not None:
            return CaseMeasure(
                self._store,
                self._writer,
                self._machine,
                self._progress,
                case,
                builds,
                large_control=own.search.flaky_control_batch,
                jobs=request.jobs,
                batch=session.batch if request.fresh else 0,
                since=session.started_at if request.fresh else None,
            )
        timeout = request.timeout or own.script.seconds
        once: Callable[[Build, int], Iterator[Observation]]
        if self._subject.sides:
            once = Compared(self._subject.sides, self._machine, builds, request.timeout or None)
        elif request.predicate:
            once = predicate_runs(request.predicate, builds.registry, timeout=timeout, hang_is=request.hang_is)
        else:
            name, code = self._subject.name, self._subject.code
            once = script_runs(name, code, self._machine, timeout=timeout, hang_is=request.hang_is)
        return ExitCodeMeasure(once, builds.of, request.runs or own.script.runs, session.control)


def _drawn(key: str) -> Callable[[Sequence[int]], int]:
    """Draws places by the key of the session, so that a search that goes on draws the same."""

    def draw(places: Sequence[int]) -> int:
        return places[int(sessions.key_of([key, tuple(places)]), 16) % len(places)]

    return draw


def _contradiction(error: ContradictedError, version: str, expected: Mapping[int, Answer], words: Words) -> str:
    said = "bad" if expected[error.place] == "yes" else "good"
    is_undecided = error.reply.hits or (words is SLOW and error.reply.runs and "undecided" in error.reply.detail)
    unknown = "it is undecided" if is_undecided else "it cannot be tested"
    shows = {"yes": f"it shows the {words.what}", "no": "it is clean", "unknown": unknown}[error.reply.answer]
    return f"{version} was said to be {said}, but {shows} here ({error.reply.detail}): the ends of a search must differ"
