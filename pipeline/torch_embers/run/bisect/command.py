"""What `embers bisect` does: choose what is searched and where, search, keep the answer, add nightlies and commits."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from torch_embers.builds import install
from torch_embers.builds.registry import Build, BuildError, Registry, environment_key, environment_text
from torch_embers.errors import InputError
from torch_embers.mine.git.gitrepo import Clone
from torch_embers.repro import bank
from torch_embers.run import matrix, perf, shipped
from torch_embers.run.bisect import nightly, rules, sessions, speed
from torch_embers.run.bisect.commits import commit_range
from torch_embers.run.bisect.measuring import (
    CaseMeasure,
    ExitCodeMeasure,
    Lasting,
    doubted,
    identity_of,
    predicate_runs,
    script_runs,
)
from torch_embers.run.bisect.places import Place, known_replies, place_of, releases, said_bad
from torch_embers.run.bisect.replies import Measure, Patient
from torch_embers.run.bisect.report import BUG, SLOW, Bisection, SubjectKind, Words, run_places, sentence
from torch_embers.run.bisect.search import ContradictedError, search
from torch_embers.run.ledger import Ledger
from torch_embers.run.script import Script, script_of
from torch_embers.run.verdict import Rules
from torch_embers.run.where import HERE, Where, opened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from torch_embers.progress import Progress
    from torch_embers.repro.case import Case
    from torch_embers.run.bisect.replies import AskBatch
    from torch_embers.run.bisect.search import Answer, Reply
    from torch_embers.run.dispatch import Dispatcher
    from torch_embers.settings import Settings
    from torch_embers.store.store import Store
    from torch_embers.store.writer import Writer

ANSWERED, CANNOT_TELL = 0, 11
"""Exit codes of `embers bisect`: there is an answer, or it cannot be told."""
_TIMED_HERE = "times are measured on this machine only: leave --executor and --address out"
_PREFERENCE = ("curated", "own", "fix_test", "extracted", "synthesized")


@dataclass(frozen=True, slots=True)
class BisectRequest:
    """What `embers bisect` is asked for.

    Attributes:
        name: a case or the number of an item; empty with a script, predicate or call.
        good: version that is said to be without the bug.
        bad: version that is said to show it.
        call: one of data/perf.toml whose time is searched.
        runs: runs of a script or predicate that measure its rate; processes per build where time is searched.
        validation: builds asked at random outside the range found; None for the number of data/bisect.toml.
        fresh: measure anew, and take no earlier verdict.
        install: install releases of the shipped matrix that are missing.
        evict: remove afterwards what was installed for this.
        index: of nightlies, a folder or an address; empty where no nightlies are wanted.
        clone: of the repository, to list commits from.
        timeout: seconds of one run of a script or predicate.
        where: what makes the runs.
    """

    name: str = ""
    good: str = ""
    bad: str = ""
    script: Path | None = None
    predicate: str = ""
    call: str = ""
    runs: int = 0
    validation: int | None = None
    fresh: bool = False
    install: bool = False
    evict: bool = False
    index: str = ""
    clone: Path | None = None
    jobs: int = 1
    timeout: float = 0
    unsandboxed: bool = False
    where: Where = HERE


@dataclass(frozen=True, slots=True)
class _Subject:
    """What is searched."""

    name: str
    content: str
    code: str
    kind: SubjectKind
    case: Case | None = None
    sibling_of: tuple[str, int] | None = None
    speed: speed.Speed | None = None

    @property
    def shown(self) -> Case | None:
        """The case that the report is about: of a bug, or of a slow-down."""
        return self.speed.case if self.speed else self.case

    @property
    def script(self) -> Script | None:
        return script_of(self.shown.name, self.shown.origin, self.shown.code) if self.shown else None


class _Builds:
    """The builds of a list of places: finds them, installs what is missing where that is wanted, removes it after.

    What may be asked next is installed while the place before is measured. One thread does all installing, so that
    two installations never stand in each other's way.
    """

    def __init__(
        self,
        settings: Settings,
        places: Sequence[Place],
        request: BisectRequest,
        index: str,
        progress: Progress,
        dispatcher: Dispatcher,
    ) -> None:
        self.registry = Registry(settings.builds_dir)
        self.places = list(places)
        self._dispatcher = dispatcher
        self._where: dict[str, Mapping[str, object]] = {}
        self._nowhere: set[str] = set()
        self._settings, self._request, self._index = settings, request, index
        self._progress = progress
        self._made: dict[str, int] = {}
        self._failed: set[int] = set()
        self._asked: set[int] = set()
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="install")
        self._coming: dict[int, Future[Build]] = {}

    def of(self, place: int) -> Build | None:
        """The build of a place; None where there is none and none may be installed."""
        self._asked.add(place)
        own = self.places[place]
        if self._missing(place):
            try:
                self.places[place] = replace(own, build=self._begun(place).result())
            except BuildError as error:
                self._failed.add(place)
                self._progress.said(f"{own.version} cannot be installed: {error}")
        return self._there(self.places[place].build)

    def ready(self, place: int) -> Build | None:
        """The build of a place that can be asked at once."""
        build = self.places[place].build
        return build if build is not None and self._placed(build) else None

    def note(self, build: Build, where: Mapping[str, object]) -> None:
        """Take note of where runs of a build were made."""
        self._where[build.identity] = where

    def environments(self, asked: Iterable[int]) -> list[str]:
        """Where runs of these places were made, in words."""
        builds = [self.places[place].build for place in asked]
        return sorted({environment_text(self._where[b.identity]) for b in builds if b and b.identity in self._where})

    def environment_keys(self, threads: int) -> list[str]:
        """Of each place the key of where its runs will be made; empty where that is not known yet."""
        found = [self._placed(place.build) if place.build else None for place in self.places]
        return ["" if where is None else environment_key({**where, "threads": threads}.items()) for where in found]

    def _placed(self, build: Build) -> Mapping[str, object] | None:
        """Where runs of a build are made; None where it would have to be brought there first."""
        if build.identity not in self._where and (found := self._dispatcher.survey([build])):
            self._where[build.identity] = found[0].where
        return self._where.get(build.identity)

    def _there(self, build: Build | None) -> Build | None:
        """The build, brought to where its runs are made; None where it cannot be had there."""
        if build is None or build.identity in self._nowhere:
            return None
        if self._placed(build) is None:
            try:
                self.note(build, self._dispatcher.prepare(build).where)
            except BuildError as error:
                self._nowhere.add(build.identity)
                self._progress.said(str(error))
                return None
        return build

    def prefetch(self, places: Sequence[int]) -> None:
        """Begin to install what may be asked soon, in this order; drop what is no longer likely and has not begun."""
        for place, future in list(self._coming.items()):
            if place not in places and future.cancel():
                del self._coming[place]
        for place in places:
            if self._missing(place):
                self._begun(place)

    def _missing(self, place: int) -> bool:
        own = self.places[place]
        return own.build is None and place not in self._failed and bool(self._request.install or own.address)

    def _begun(self, place: int) -> Future[Build]:
        if place not in self._coming:
            self._coming[place] = self._pool.submit(self._installed, place)
        return self._coming[place]

    def _installed(self, place: int) -> Build:
        own = self.places[place]
        with suppress(BuildError):
            return self.registry.find(own.version)
        made = install.add_for(self._settings, own.version, own.address, self._index, self._progress)
        self._made[made.name] = place
        return made

    def evict(self) -> None:
        """Remove what was installed here, where that is wanted, and what was installed ahead and never asked."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        for name, place in self._made.items():
            if not self._request.evict and place in self._asked:
                continue
            with suppress(BuildError):
                self.registry.remove(name)
                self._progress.said(f"removed {name}")


def bisect(store: Store, settings: Settings, request: BisectRequest, progress: Progress) -> Bisection:
    """Search, keep each step, and return the answer.

    Raises:
        InputError, BuildError: the request cannot be carried out, or its ends do not differ.
        SandboxError, StoreError, ClusterError: as of their makers.
    """
    _check(request)
    clone = Clone(request.clone) if request.clone is not None else None
    registry = Registry(settings.builds_dir)
    with (
        opened(request.where, registry, progress, jobs=request.jobs, unsandboxed=request.unsandboxed) as dispatcher,
        store.writer("bisect") as writer,
    ):
        if request.name:
            shipped.load(writer)
        subject = _subject(store, settings, request)
        made = _Bisector(store, writer, settings, subject, request, progress, dispatcher).run()
    if clone is not None and (between := _last_change(_innermost(made))):
        issues = [number for _, number in made.items]
        try:
            code, how = subject.code, rules.load().commits
            if subject.speed and subject.speed.call:  # the call is the subject, however common its name is
                code, how = subject.speed.call.call, how.model_copy(update={"ignored": ()})
            ranked = commit_range(clone, settings.repo, between, code, issues, how)
        except InputError as error:  # what the builds showed is worth printing without the commits
            progress.said(f"no commits: {error}")
        else:
            made = replace(made, commits=ranked)
    return made


def _check(request: BisectRequest) -> None:
    given = [word for word in (request.name, request.script, request.predicate, request.call) if word]
    if len(given) != 1:
        raise InputError(
            "give one thing to bisect: a case or the number of its item, or --script, or --predicate, or --call"
        )
    if request.predicate and request.where != HERE:
        raise InputError("--predicate runs on this machine only: leave --executor and --address out, or give --script")
    if request.call and request.where != HERE:
        raise InputError(_TIMED_HERE)
    if request.good and request.good == request.bad:
        raise InputError(f"--good and --bad are both {request.good}: a bisection needs two builds that differ")


def _subject(store: Store, settings: Settings, request: BisectRequest) -> _Subject:
    timed = _timed(store, settings, request)
    if timed is not None:
        if request.where != HERE:
            raise InputError(_TIMED_HERE)
        return _Subject(timed.name, repr((timed.limit, timed.code)), timed.code, "speed", speed=timed)
    if request.name:
        asked = _item(request.name, settings.repo)
        case = min(bank.load(store, [request.name], settings.repo), key=lambda case: _closeness(case, asked))
        sibling_of = asked if asked and case.relations.get(asked) == "sibling" else None
        return _Subject(case.name, case.hash, case.code, "case", case, sibling_of)
    if request.script is not None:
        try:
            code = request.script.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"no script {request.script}: give the path of a Python file in UTF-8") from error
        return _Subject(request.script.name, code, code, "script")
    return _Subject(request.predicate, repr((request.predicate, identity_of(request.predicate))), "", "predicate")


def _timed(store: Store, settings: Settings, request: BisectRequest) -> speed.Speed | None:
    """What is timed; None where the request is about a bug. A number means a case about time where no other has it."""
    if request.call:
        return speed.of_call(request.call)
    if not request.name or (named := speed.of_case(request.name, settings.repo, by_number=False)):
        return named if request.name else None
    try:
        bank.load(store, [request.name], settings.repo)
    except InputError:
        return speed.of_case(request.name, settings.repo, by_number=True)
    return None


def _item(name: str, repo: str) -> tuple[str, int] | None:
    """The item that a name means; None where it is the name of a case."""
    home, _, number = name.rpartition("#")
    return (home or repo, int(number)) if number.isdecimal() else None


def _closeness(case: Case, asked: tuple[str, int] | None) -> tuple[bool, int]:
    """What a number means first: the case of that very bug, then the origin that is read most closely."""
    return asked is not None and case.relations.get(asked) != "same", _PREFERENCE.index(case.origin)


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


class _Bisector:
    """One subject, searched over releases and then over nightlies."""

    def __init__(
        self,
        store: Store,
        writer: Writer,
        settings: Settings,
        subject: _Subject,
        request: BisectRequest,
        progress: Progress,
        dispatcher: Dispatcher,
    ) -> None:
        self._store, self._writer, self._settings = store, writer, settings
        self._subject, self._request, self._progress = subject, request, progress
        self._dispatcher = dispatcher
        self._good: Build | None = None

    def run(self) -> Bisection:
        """Search the releases, and the nightlies of the last change where an index is given."""
        entries = [] if self._request.fresh else _entries(self._store, self._subject.case)
        known = [*(entry.build for entry in entries), *(install.known_releases() if self._request.install else ())]
        places = releases(Registry(self._settings.builds_dir).installed(), known)
        if not self._request.install and not any(place.build for place in places):
            raise BuildError("no build here: `embers builds add VERSION` adds one, --install adds what is needed")
        places, expected = _ends(places, self._request)
        if self._subject.speed is not None and not self._request.good:
            self._good = next((place.build for place in places if place.build), None)
        made = self._searched(places, known_replies(places, entries, Rules.load()), expected)
        between = _last_change(made) if self._request.index else None
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
        places = [ends[0], *nightly.listing(own, ends[0].version, ends[1].version), ends[1]]
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
        builds = _Builds(self._settings, places, self._request, self._index(), self._progress, self._dispatcher)
        key = self._key(builds)
        batch = Ledger(self._store, self._writer).last_batch() + 1
        anew = self._request.fresh or self._subject.case is None  # what a command found may be different now
        session = sessions.begun(self._store, self._writer, key, self._subject.name, batch, fresh=anew)
        timed = self._subject.speed is not None
        measure = None if timed else self._measure(builds, session)
        measured: AskBatch = (
            Patient(Lasting(measure, self._progress), own, Rules.load()) if measure else self._timing(builds)
        )
        if any(place.address for place in places):
            measured = nightly.ByCommit(measured, builds.places, builds.of)
        ask = sessions.Remembering(session, self._writer, places, measured)

        def soon(expected: Sequence[int]) -> None:
            if timed:  # an installation would weigh on what is timed
                return
            builds.prefetch(expected)
            if isinstance(measure, CaseMeasure):
                measure.expect(expected)

        case, shown, words = self._subject.case, self._subject.shown, SLOW if timed else BUG
        bad = said_bad(places, shown.known_bad) if shown else []
        try:
            found = search(
                len(places), ask, own, _drawn(key), known=known, said_bad=bad, expected=expected,
                own_control=case is None and not timed and self._rated, soon=soon,
            )  # fmt: skip
        except ContradictedError as error:
            raise InputError(_contradiction(error, places[error.place].version, expected, words)) from error
        finally:
            if isinstance(measure, CaseMeasure):
                measure.close()
            builds.evict()
        found = found if case or timed else doubted(found)
        sessions.finish(self._writer, session, found, sentence(found, [place.version for place in places], words))
        return Bisection(
            self._subject.name, shown.issues if shown else (), tuple(builds.places), found,
            tuple(builds.environments(run_places(found))), self._subject.script,
            kind=self._subject.kind, sibling_of=self._subject.sibling_of, rated=self._rated,
        )  # fmt: skip

    @property
    def _rated(self) -> bool:
        """Whether hits measure a rate: not where each build has one run."""
        return self._subject.kind in ("case", "speed") or self._request.runs != 1

    def _key(self, builds: _Builds) -> str:
        """All that decides what is found: a change of any begins a new session."""
        threads, places = self._subject.case.threads if self._subject.case else 1, builds.places
        where = [
            (place.build.identity, key) if place.build else ""
            for place, key in zip(places, builds.environment_keys(threads), strict=True)
        ]
        request = self._request
        asked: tuple[object, ...] = (
            request.good, request.bad, request.runs, request.validation, request.fresh, request.timeout,
        )  # fmt: skip
        if self._good is not None:  # what times are held against
            asked = (*asked, self._good.identity)
        return sessions.key_of(
            [self._subject.kind, self._subject.content, [place.version for place in places], where, asked]
        )

    def _timing(self, builds: _Builds) -> speed.SpeedMeasure:
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

    def _measure(self, builds: _Builds, session: sessions.Session) -> Measure:
        own, request, case = rules.load(), self._request, self._subject.case
        if case is not None:
            return CaseMeasure(
                self._store,
                self._writer,
                self._dispatcher,
                self._progress,
                case,
                builds,
                large_control=own.search.flaky_control_batch,
                jobs=request.jobs,
                batch=session.batch if request.fresh else 0,
                since=session.started_at if request.fresh else None,
            )
        timeout = request.timeout or own.script.seconds
        if request.predicate:
            once = predicate_runs(request.predicate, builds.registry, timeout=timeout)
        else:
            name, code = self._subject.name, self._subject.code
            once = script_runs(name, code, self._dispatcher, builds, timeout=timeout)
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


def _last_change(made: Bisection) -> tuple[Place, Place] | None:
    """The ends of the last change; None where there is no answer or no change."""
    if not made.answered or not made.history.changes:
        return None
    change = made.history.changes[-1]
    return made.places[change.before], made.places[change.after]


def _innermost(made: Bisection) -> Bisection:
    return made.nightlies if made.nightlies and _last_change(made.nightlies) else made
