"""Runs cases on builds and turns the runs into verdicts: the one way to do so, for `run` and `recheck`.

Work is keyed by case, build, environment, batch and attempt. Every finished run is stored with or before its verdict,
so an interrupted sweep goes on where it was, and asking again costs nothing. A sweep has three parts: first runs, which
tell what some target can test, then the controls of that, each case on one build that is known to show its bug, then
the other runs of the targets, whose number follows from the control. Which worker makes which run next is the
schedule's matter (``verdicts/schedule.py``).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from torch_embers.builds.registry import environment_of
from torch_embers.builds.work import WHOLE, note_builds
from torch_embers.normalize import naive_utc
from torch_embers.statistics.absence import AbsenceRules
from torch_embers.verdicts.batch import Batch, cannot_run_here, control_builds, control_releases
from torch_embers.verdicts.ledger import Cell, Ledger
from torch_embers.verdicts.schedule import Schedule
from torch_embers.verdicts.verdict import Control, Observation

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from torch_embers.builds.registry import Build
    from torch_embers.builds.work import Machine, Shard
    from torch_embers.cases.case import Case
    from torch_embers.progress import Progress
    from torch_embers.store.store import Store
    from torch_embers.store.writer import Writer

CONFIRMING_BATCHES = 2
"""Batches with the same verdict that a claim of an absence rests on."""


@dataclass(frozen=True, slots=True)
class SweepRequest:
    """What a sweep is asked for.

    Attributes:
        builds: targets, in order of release.
        controls: builds on which controls may run.
        jobs: runs at a time.
        batch: number of the new batches; a higher one than before starts from nothing.
        since: verdicts from before this time (UTC, naive) do not count; None: all do.
        from_batch: verdicts of batches with a lower number do not count, either.
        unusable: identities of builds on which nothing can be run; verdicts that are known on them count.
        shard: which of the cases are swept; all are in view where controls are chosen.
    """

    cases: Sequence[Case]
    builds: Sequence[Build]
    controls: Sequence[Build]
    jobs: int = 1
    batch: int = 0
    since: datetime | None = None
    from_batch: int = 0
    unusable: frozenset[str] = frozenset()
    shard: Shard = WHOLE

    @property
    def own(self) -> list[Case]:
        """The cases that are swept."""
        return [case for case in self.cases if self.shard.has(case.hash)]


class Executor:
    """Runs sweeps against one database.

    Args:
        store: the database.
        writer: the writer that is held.
        machine: makes the runs.
        progress: counts runs; those that an early hit makes needless count as done.
        rules: numbers of data/verdicts.toml.
    """

    def __init__(
        self,
        store: Store,
        writer: Writer,
        machine: Machine,
        progress: Progress,
        rules: AbsenceRules | None = None,
    ) -> None:
        self.ledger = Ledger(store, writer)
        self._writer = writer
        self._progress = progress
        self._rules = rules or AbsenceRules.load()
        self._machine = machine
        self._places: dict[str, tuple[Build, Mapping[str, object]]] = {}
        self._environments: dict[str, str] = {}
        self._total = 0

    def afresh(self, request: SweepRequest) -> SweepRequest:
        """The same request, with new batches of runs although verdicts are known."""
        return replace(request, batch=self.ledger.last_batch() + 1, since=naive_utc())

    def confirming(self, request: SweepRequest, since: datetime) -> SweepRequest:
        """A second batch on the one build of the request, for those cases that have none.

        A second batch that was begun and interrupted goes on; one that was decided is not made a third time.

        Args:
            request: the cases and their build, on which each has a verdict.
            since: batches from before this time (UTC, naive) do not count.
        """
        [build] = request.builds
        agreeing = self.ledger.agreeing_batches(build, self._environments[build.identity], since)
        cases = [case for case in request.cases if len(agreeing.get(case.hash, ())) < CONFIRMING_BATCHES]
        first = max((batch for case in cases for batch in agreeing.get(case.hash, ())), default=-1)
        begun = self.ledger.open_batch(build, since)
        batch = begun if begun > first else self.ledger.last_batch() + 1
        return replace(request, cases=cases, batch=batch, since=since, from_batch=batch)

    def sweep(self, request: SweepRequest) -> Generator[Cell]:
        """Verdicts for every case on every build, each as soon as it is reached; those known already come first.

        Raises:
            BuildError: a build is gone or has changed.
            SandboxError: the sandbox cannot give what a profile promises.
            StoreError: the database cannot be used.
        """
        self._note({b.identity: b for b in (*request.builds, *request.controls)}.values())
        usable = [build for build in request.controls if build.identity not in request.unusable]
        request = replace(request, controls=usable)
        stored = self.ledger.verdicts(request.own, request.builds, self._environments, request.since)
        counting = {key: cell for key, cell in stored.items() if cell.batch >= request.from_batch}
        known = self._without_outdated(request, counting)
        for cell in sorted(known.values(), key=lambda cell: (cell.build.order(), cell.case.name)):
            yield self._located(cell)
        todo = {
            build.identity: [
                self._batch(case, build, request.batch)
                for case in request.own
                if (case.hash, build.identity) not in known
            ]
            for build in request.builds
            if build.identity not in request.unusable
        }
        request = replace(request, builds=[build for build in request.builds if build.identity in todo])
        if not any(todo.values()):
            return
        controls = self._controls(request, self._testable(request, todo))
        for batch in (batch for batches in todo.values() for batch in batches):
            self._plan(batch, controls)
        try:
            yield from self._decided_in_order(request, todo)
        finally:  # whoever stops early, by Ctrl-C or otherwise, keeps what was reached
            self.ledger.commit()

    def _note(self, builds: Iterable[Build]) -> None:
        """Write builds and where they run, before the first run."""
        self._places |= {build.identity: (build, environment_of(build)) for build in builds}
        self._environments |= note_builds(self._writer, self._places.values())

    def _batch(self, case: Case, build: Build, number: int) -> Batch:
        return Batch(case, build, self._environments[build.identity], number)

    def _testable(self, request: SweepRequest, todo: Mapping[str, Sequence[Batch]]) -> dict[str, Case]:
        """The cases, by hash, that run on some target: a control says nothing of those that run on none.

        Their first runs are stored, and count as the first of their batches.
        """
        found: dict[str, Case] = {}
        for batches in todo.values():
            firsts = []
            for batch in batches:
                if batch.case.hash not in found and cannot_run_here(batch.case, batch.build) is None:
                    first = self._batch(batch.case, batch.build, batch.number)
                    first.is_control, first.planned = True, 1  # neither injects a fault nor confirms a hit
                    self._expect(first)
                    firsts.append(first)
            tried = self._run(firsts, request)
            found |= {one.case.hash: one.case for one in tried if any(o.outcome != "cannot_run" for o in one.seen)}
        return found

    def _decided_in_order(self, request: SweepRequest, todo: Mapping[str, Sequence[Batch]]) -> Iterator[Cell]:
        """Build by build. A bug that was not seen without a control waits while another build may yet show it."""
        waiting: list[Cell] = []
        shown: set[str] = set()
        last = request.builds[-1].identity
        for build in request.builds:
            for cell in self._targets(todo[build.identity], request):
                if cell.decision.verdict == "occurs":
                    shown.add(cell.case.hash)
                if lacks_control(cell) and (cell.case.hash in shown or build.identity != last):
                    waiting.append(cell)
                else:
                    yield cell
        yield from self._second_look(request, waiting)

    def _without_outdated(
        self, request: SweepRequest, known: Mapping[tuple[str, str], Cell]
    ) -> dict[tuple[str, str], Cell]:
        """The known verdicts that still hold.

        Others count forks where fresh starts count, or did not see a bug before a build was known that shows it.
        """
        by_start = {key: cell for key, cell in known.items() if self._rules.by_start(cell.case.signature)}
        outdated = self.ledger.without_starts(by_start, self._rules)
        known = {key: cell for key, cell in known.items() if key not in outdated}
        unseen = {cell.case.hash: cell.case for cell in known.values() if lacks_control(cell)}
        bad = self.ledger.seen_bad(unseen)
        served = control_builds(list(unseen.values()), request.controls, bad)
        return {key: cell for key, cell in known.items() if cell.case.hash not in served or not lacks_control(cell)}

    def _second_look(self, request: SweepRequest, cells: Sequence[Cell]) -> Iterator[Cell]:
        """Where a case was not seen, but this sweep has found a build that shows it: that build is the control."""
        bad = self.ledger.seen_bad({cell.case.hash for cell in cells})
        again = [cell for cell in cells if cell.case.hash in bad]
        yield from (cell for cell in cells if cell.case.hash not in bad)
        controls = self._controls(request, {cell.case.hash: cell.case for cell in again})
        for build in request.builds:
            batches = []
            for cell in (c for c in again if c.build.identity == build.identity):
                batch = Batch(cell.case, build, cell.environment, cell.batch)
                self._plan(batch, controls)
                batches.append(batch)
            yield from self._targets(batches, request)

    def _controls(self, request: SweepRequest, cases: Mapping[str, Case]) -> dict[str, Control]:
        """Run each of these cases of the request on one build that is known to show its bug, and count its hits.

        The build is chosen with all cases of the request in view, so that a sweep that goes on after an interruption
        has the controls that it began with.
        """
        bad = self.ledger.seen_bad({case.hash for case in request.cases})
        by_build: dict[str, list[Batch]] = defaultdict(list)
        chosen = control_builds(request.cases, request.controls, bad)
        for case_hash, build in chosen.items():
            if case_hash not in cases:
                continue
            batch = self._batch(cases[case_hash], build, request.batch)
            batch.plan_control(self._rules)
            self._expect(batch)
            by_build[build.identity].append(batch)
        controls: dict[str, Control] = {}
        for batches in by_build.values():
            self._progress.said(f"controls on {batches[0].build.name}: {len(batches)} cases")
        for batch in self._run([batch for batches in by_build.values() for batch in batches], request):
            controls[batch.case.hash] = batch.as_control()
        return controls

    def _targets(self, batches: Sequence[Batch], request: SweepRequest) -> Iterator[Cell]:
        """Run cases on builds; the verdict of each as soon as no further run of it is wanted."""
        if not batches:
            return
        possible = []
        for batch in batches:
            reason = cannot_run_here(batch.case, batch.build)
            if reason is None:
                possible.append(batch)
            else:
                batch.seen = [Observation("cannot_run", None, reason)]
                self._progress.advanced(batch.planned)
                yield self._cell(batch)
        for name, count in Counter(batch.build.name for batch in possible).items():
            self._progress.said(f"{name}: {count} cases")
        for batch in self._run(possible, request):
            yield self._cell(batch)
        self.ledger.commit()

    def _cell(self, batch: Batch) -> Cell:
        """Decide, and queue the verdict for the database."""
        decision = batch.decide(self._rules)
        cell = Cell(batch.case, batch.build, batch.environment, batch.profile, batch.number, decision, fresh=True)
        self.ledger.keep_verdict(cell)
        return self._located(cell)

    def _located(self, cell: Cell) -> Cell:
        """The cell, with where its runs were made."""
        return replace(cell, where=self._places[cell.build.identity][1])

    def _run(self, batches: Sequence[Batch], request: SweepRequest) -> Iterator[Batch]:
        """Make the runs that these batches lack, in fresh zygotes; each batch when no further run of it is wanted."""
        by_build: dict[str, list[Batch]] = defaultdict(list)
        for batch in batches:
            by_build[batch.build.identity].append(batch)
        for own in by_build.values():
            self.ledger.recall(own[0].build, own, request.since, self._rules)
        left = []
        for batch in batches:
            self._progress.advanced(min(len(batch.seen), batch.planned))
            if batch.is_settled(self._rules):
                yield self._settled(batch)
            else:
                left.append(batch)
        if not left:
            return
        with self._machine.shares(left) as shares:
            for batch, made in Schedule(shares, self._rules, request.jobs, self._progress.said).run():
                self.ledger.keep(batch, made.attempt, made.result, made.observation, made.number)
                if made.attempt.inject:
                    continue
                if len(batch.seen) <= batch.planned:
                    self._progress.advanced(1)
                if batch.is_settled(self._rules):
                    yield self._settled(batch)
        self.ledger.commit()

    def _plan(self, batch: Batch, controls: Mapping[str, Control]) -> None:
        batch.plan(controls.get(batch.case.hash, Control()), self._rules)
        self._expect(batch)

    def _expect(self, batch: Batch) -> None:
        self._total += batch.planned
        self._progress.expects(self._total)

    def _settled(self, batch: Batch) -> Batch:
        """Runs that are not wanted any more count as done."""
        self._progress.advanced(max(0, batch.planned - len(batch.seen)))
        return batch


def lacks_control(cell: Cell) -> bool:
    """Whether a bug was not seen, and no build served as control: one that shows it would decide."""
    return cell.decision.verdict == "not_seen" and cell.decision.control.kind != "build"


@dataclass(frozen=True, slots=True)
class Uncontrolled:
    """Clean runs that prove nothing, because no build here shows the bug.

    Attributes:
        verdicts: how many verdicts are ``not_seen`` for that reason.
        cases: of how many cases.
        releases: which releases would show the bug, with the number of cases that each adds; as few as will do.
    """

    verdicts: int = 0
    cases: int = 0
    releases: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, cells: Sequence[Cell]) -> Uncontrolled:
        """What no build here is a control for, of these verdicts."""
        bare = [cell for cell in cells if lacks_control(cell)]
        cases = {cell.case.hash: cell.case for cell in bare}
        return cls(len(bare), len(cases), control_releases(list(cases.values())))

    def __str__(self) -> str:
        """What would help, in one line; empty where every clean verdict has a control."""
        if not self.verdicts:
            return ""
        text = f"{self.verdicts} clean verdicts of {self.cases} cases are only not_seen: no build here shows their bug"
        if not self.releases:
            return f"{text}, and no release is known that does"
        known = ", ".join(f"{release} ({count})" for release, count in self.releases.items())
        first = next(iter(self.releases))
        return f"{text}. Releases that are known to, with the cases each adds: {known}; `embers builds add {first}`"
