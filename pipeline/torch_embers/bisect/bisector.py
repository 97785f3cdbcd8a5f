"""`embers bisect`: one subject, searched over releases and then over nightlies; each step is kept."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from packaging.version import Version

from torch_embers.bisect import nightly, sessions, thresholds
from torch_embers.bisect.behaviours import Compared
from torch_embers.bisect.bisection import Bisection, sentence
from torch_embers.bisect.commits import commit_range
from torch_embers.bisect.measuring import CaseMeasure, ExitCodeMeasure, doubted, script_runs
from torch_embers.bisect.places import BuildList, Place, place_of, releases
from torch_embers.bisect.predicate import predicate_runs
from torch_embers.bisect.replies import Asker, Measure, known_replies
from torch_embers.bisect.search import ContradictedError, Search
from torch_embers.bisect.subjects import subject_of
from torch_embers.builds import install
from torch_embers.builds.registry import BuildError, Registry, environment_of, machine_here
from torch_embers.builds.work import Machine
from torch_embers.errors import InputError
from torch_embers.mine.git.gitrepo import Clone
from torch_embers.statistics.absence import AbsenceRules
from torch_embers.verdicts import matrix, shipped
from torch_embers.verdicts.executor import Executor, SweepRequest
from torch_embers.verdicts.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from torch_embers.bisect.request import BisectRequest
    from torch_embers.bisect.search import Answer, Reply
    from torch_embers.bisect.sessions import Session
    from torch_embers.bisect.subjects import Subject
    from torch_embers.builds.registry import Build
    from torch_embers.progress import Progress
    from torch_embers.settings import Settings
    from torch_embers.store.store import Store
    from torch_embers.store.writer import Writer
    from torch_embers.verdicts.verdict import Observation

ANSWERED, CANNOT_TELL = 0, 11
"""Exit codes of `embers bisect`: there is an answer, or it cannot be told."""


def bisect(store: Store, settings: Settings, request: BisectRequest, progress: Progress) -> Bisection:
    """Search, keep each step and the commits of the last change, and return the answer.

    Raises:
        InputError, BuildError: the request cannot be carried out, or its ends do not differ.
        SandboxError, StoreError: as of their makers.
    """
    request.check()
    clone = Clone(request.clone) if request.clone is not None else None
    with store.writer("bisect") as writer:
        if request.name:
            shipped.load(writer)
        subject = subject_of(store, settings, request)
        if subject.sides:
            request = replace(request, good=subject.sides.good.version, bad=subject.sides.bad.version)
        machine = Machine(Registry(settings.builds_dir), request.unsandboxed, progress)
        made = _Bisector(store, writer, settings, subject, request, progress, machine, clone).run()
        ends = made.innermost.last_change
        if clone is None or ends is None:
            return made
        try:
            numbers = {number for _, number in subject.items}
            found = commit_range(clone, settings.repo, ends, subject.code, numbers)
        except InputError as error:  # what the builds showed is worth printing without the commits
            progress.said(f"no commits: {error}")
            return made
        sessions.keep_commits(writer, made.innermost.session, found)
        return replace(made, commits=found)


@dataclass(frozen=True, slots=True)
class _Bisector:
    store: Store
    writer: Writer
    settings: Settings
    subject: Subject
    request: BisectRequest
    progress: Progress
    machine: Machine
    clone: Clone | None

    def run(self) -> Bisection:
        """Search the releases, and the nightlies of the last change where an index is given."""
        entries = [] if self.request.fresh else self._entries()
        known = [entry.build for entry in entries]
        if self.subject.sides:
            known += [self.request.good, self.request.bad]
        if self.request.install:
            known += install.known_releases()
        places = releases(self.machine.registry.installed(), known)
        if not self.request.install and not any(place.build for place in places):
            raise BuildError("no build here: `embers builds add VERSION` adds one, --install adds what is needed")
        places, expected = _ends(places, self.request)
        replies = known_replies(places, entries, AbsenceRules.load())
        decided = {place: reply for place, reply in replies.items() if reply.answer != "unknown"}
        made = self._searched(places, decided, expected)
        between = made.last_change if self.request.index else None
        if between is None:
            return made
        try:
            return replace(made, nightlies=self._nightlies(made, between))
        except BuildError as error:  # what the releases showed is worth printing without the nightlies
            self.progress.said(f"no nightlies: {error}")
            return made

    def _entries(self) -> list[matrix.MatrixEntry]:
        """Earlier verdicts of a case, the own ones first."""
        case = self.subject.case
        return matrix.preferred([e for e in matrix.entries(self.store) if e.case == case.name]) if case else []

    def _nightlies(self, made: Bisection, ends: tuple[Place, Place]) -> Bisection:
        """Search the nightlies between two releases, whose answers are taken over."""
        places = [ends[0], *nightly.listing(self._index, ends[0].version, ends[1].version, self.clone), ends[1]]
        change, replies = made.history.changes[-1], made.history.replies
        return self._searched(places, {0: replies[change.before], len(places) - 1: replies[change.after]}, {})

    @property
    def _index(self) -> str:
        return install.nightly_index() if self.request.index == install.NIGHTLY else self.request.index

    def _searched(
        self, places: Sequence[Place], known: Mapping[int, Reply], expected: Mapping[int, Answer]
    ) -> Bisection:
        own, case, rules = thresholds.load().search, self.subject.case, AbsenceRules.load()
        if self.request.validation is not None:
            own = own.model_copy(update={"validation": self.request.validation})
        builds = BuildList(self.settings, places, self.request, self._index, self.progress)
        key, batch = self._key(places), Ledger(self.store, self.writer).last_batch() + 1
        anew = self.request.fresh or case is None  # what a command found may be different now
        session = sessions.begun(self.store, self.writer, key, self.subject.name, batch, fresh=anew)
        asker = Asker(self._measure(builds, session), builds, own, rules, self.progress)
        ask = sessions.Remembering(session, self.writer, places, asker)
        known_bad = set(map(Version, case.known_bad)) if case else set()
        bad = [n for n in reversed(range(len(places))) if Version(places[n].version) in known_bad]
        rated = case is not None or self.request.runs != 1
        try:
            found = Search(len(places), ask, own, _drawn(key), known, bad, case is None and rated).run(expected)
        except ContradictedError as error:
            version = places[error.place].version
            raise InputError(_contradiction(error, version, expected, self.subject.what)) from error
        finally:
            builds.evict()
        if self.subject.kind in ("script", "predicate"):
            found = doubted(found)
        text = sentence(found, [place.version for place in places], self.subject.what)
        sessions.finish(self.writer, session, found, text)
        environments = builds.environments(found.asked)
        return Bisection(self.subject, builds.places, found, environments, session, rated)

    def _key(self, places: Sequence[Place]) -> str:
        """All that decides what is found: a change of any begins a new session.

        What this search installs does not, so that one that was interrupted goes on with it.
        """
        request, case = self.request, self.subject.case
        where: list[object] = [machine_here()] if request.install else []
        for place in places:
            where.append(place.version)
            if place.build and not (request.install and place.build.managed):
                where += [place.build.identity, environment_of(place.build, case.threads if case else 1)]
        asked = (request.good, request.bad, request.runs, request.validation, request.fresh, request.timeout)
        return sessions.key_of([self.subject.kind, self.subject.content, where, asked, request.hang_is])

    def _measure(self, builds: BuildList, session: Session) -> Measure:
        own, request, case = thresholds.load(), self.request, self.subject.case
        if case is not None:
            size, rules = own.search.flaky_control_batch, AbsenceRules.load()
            larger = rules.model_copy(update={"control_batch": size, "slow_control_batch": size})
            usual = Executor(self.store, self.writer, self.machine, self.progress, rules)
            for_flaky = Executor(self.store, self.writer, self.machine, self.progress, larger)
            sweep = SweepRequest([case], [], [], request.jobs)
            if request.fresh:
                sweep = replace(sweep, batch=session.batch, since=session.started_at)
            return CaseMeasure(usual, for_flaky, sweep, builds.registry)
        timeout = request.timeout or own.script.seconds
        once: Callable[[Build, int], Iterator[Observation]]
        if self.subject.sides:
            once = Compared(self.subject.sides, self.machine, builds, request.timeout or None)
        elif request.predicate:
            once = predicate_runs(request.predicate, builds.registry, timeout=timeout, hang_is=request.hang_is)
        else:
            name, code = self.subject.name, self.subject.code
            once = script_runs(name, code, self.machine, timeout=timeout, hang_is=request.hang_is)
        return ExitCodeMeasure(once, request.runs or own.script.runs, session.control)


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


def _drawn(key: str) -> Callable[[Sequence[int]], int]:
    """Draws places by the key of the session, so that a search that goes on draws the same."""

    def draw(places: Sequence[int]) -> int:
        return places[int(sessions.key_of([key, tuple(places)]), 16) % len(places)]

    return draw


def _contradiction(error: ContradictedError, version: str, expected: Mapping[int, Answer], what: str) -> str:
    said = "bad" if expected[error.place] == "yes" else "good"
    unknown = "it is undecided" if error.reply.hits else "it cannot be tested"
    shows = {"yes": f"it shows the {what}", "no": "it is clean", "unknown": unknown}[error.reply.answer]
    return f"{version} was said to be {said}, but {shows} here ({error.reply.detail}): the ends of a search must differ"
