"""Runs cases on builds and turns the runs into verdicts: the one way to do so, for `run` and `recheck`.

Work is keyed by case, build, environment, batch and attempt. Every finished run is stored with or before its verdict,
so an interrupted sweep goes on where it was, and asking again costs nothing. A sweep has two halves: first the
controls, each case on one build that is known to show its bug, then the targets, whose number of runs follows from the
control.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from torch_embers.run.batch import Batch, cannot_run_here, control_builds
from torch_embers.run.ledger import Cell, Ledger
from torch_embers.run.verdict import Control, Observation, Rules, observe
from torch_embers.sandbox import doctor
from torch_embers.sandbox.runner import Attempt, Runner

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from torch_embers.builds.registry import Build, Registry
    from torch_embers.progress import Progress
    from torch_embers.repro.case import Case
    from torch_embers.store.store import Store
    from torch_embers.store.writer import Writer


LEAST_MEMORY = 4 << 30
"""Bytes that every run may take; a case that says that it needs more gets more."""


@dataclass(frozen=True, slots=True)
class SweepRequest:
    """What a sweep is asked for.

    Attributes:
        builds: targets, in order of release.
        controls: builds on which controls may run.
        jobs: runs at a time.
        batch: number of the new batches; a higher one than before starts from nothing.
        since: verdicts from before this time (UTC, naive) do not count; None: all do.
    """

    cases: Sequence[Case]
    builds: Sequence[Build]
    controls: Sequence[Build]
    jobs: int = 1
    batch: int = 0
    since: datetime | None = None


class Executor:
    """Runs sweeps against one database.

    Args:
        store: the database.
        writer: the writer that is held.
        registry: the installed builds.
        progress: counts runs; those that an early hit makes needless count as done.
        rules: numbers of data/verdicts.toml.
        unsandboxed: let reviewed cases run with this user's rights where no sandbox can be had.
    """

    def __init__(
        self,
        store: Store,
        writer: Writer,
        registry: Registry,
        progress: Progress,
        rules: Rules | None = None,
        *,
        unsandboxed: bool = False,
    ) -> None:
        self.ledger = Ledger(store, writer)
        self._registry = registry
        self._progress = progress
        self._rules = rules or Rules.load()
        self._unsandboxed = unsandboxed
        self._total = 0

    def afresh(self, request: SweepRequest) -> SweepRequest:
        """The same request, with new batches of runs although verdicts are known."""
        return replace(request, batch=self.ledger.last_batch() + 1, since=datetime.now(UTC).replace(tzinfo=None))

    def sweep(self, request: SweepRequest) -> Iterator[Cell]:
        """Verdicts for every case on every build, each as soon as it is reached; those known already come first.

        Raises:
            BuildError: a build is gone or has changed.
            SandboxError: the sandbox cannot give what a profile promises.
            StoreError: the database cannot be used.
        """
        environments = self.ledger.note_builds({b.identity: b for b in (*request.builds, *request.controls)}.values())
        stored = self.ledger.verdicts(request.cases, request.builds, environments, request.since)
        known = self._without_outdated(request, stored)
        yield from sorted(known.values(), key=lambda cell: (cell.build.order(), cell.case.name))
        todo = {
            build.identity: [
                Batch(case, build, environments[build.identity], request.batch)
                for case in request.cases
                if (case.hash, build.identity) not in known
            ]
            for build in request.builds
        }
        if not any(todo.values()):
            return
        cases = {batch.case.hash: batch.case for batches in todo.values() for batch in batches}
        controls = self._controls(request, cases, environments)
        for batch in (batch for batches in todo.values() for batch in batches):
            self._plan(batch, controls)
        try:
            yield from self._decided_in_order(request, todo, environments)
        finally:  # whoever stops early, by Ctrl-C or otherwise, keeps what was reached
            self.ledger.commit()

    def _decided_in_order(
        self, request: SweepRequest, todo: Mapping[str, Sequence[Batch]], environments: Mapping[str, str]
    ) -> Iterator[Cell]:
        """Build by build. A bug that was not seen without a control waits while another build may yet show it."""
        waiting: list[Cell] = []
        shown: set[str] = set()
        for build in request.builds:
            for cell in self._targets(build, todo[build.identity], request):
                if cell.decision.verdict == "occurs":
                    shown.add(cell.case.hash)
                is_last = build.identity == request.builds[-1].identity
                if lacks_control(cell) and (cell.case.hash in shown or not is_last):
                    waiting.append(cell)
                else:
                    yield cell
        yield from self._second_look(request, waiting, environments)

    def _without_outdated(
        self, request: SweepRequest, known: Mapping[tuple[str, str], Cell]
    ) -> dict[tuple[str, str], Cell]:
        """The known verdicts that still hold.

        Others count forks where fresh starts count, or did not see a bug before a build was known that shows it.
        """
        by_start = {key: cell for key, cell in known.items() if self._rules.by_start(cell.case)}
        outdated = self.ledger.without_starts(by_start, self._rules)
        known = {key: cell for key, cell in known.items() if key not in outdated}
        unseen = {cell.case.hash: cell.case for cell in known.values() if lacks_control(cell)}
        served = control_builds(list(unseen.values()), request.controls, self.ledger.seen_bad(unseen))
        return {key: cell for key, cell in known.items() if cell.case.hash not in served or not lacks_control(cell)}

    def _second_look(
        self, request: SweepRequest, cells: Sequence[Cell], environments: Mapping[str, str]
    ) -> Iterator[Cell]:
        """Where a case was not seen, but this sweep has found a build that shows it: that build is the control."""
        bad = self.ledger.seen_bad({cell.case.hash for cell in cells})
        again = [cell for cell in cells if cell.case.hash in bad]
        yield from (cell for cell in cells if cell.case.hash not in bad)
        controls = self._controls(request, {cell.case.hash: cell.case for cell in again}, environments)
        for build in request.builds:
            batches = []
            for cell in (c for c in again if c.build.identity == build.identity):
                batch = Batch(cell.case, build, cell.environment, cell.batch)
                self._plan(batch, controls)
                batches.append(batch)
            yield from self._targets(build, batches, request)

    def _controls(
        self, request: SweepRequest, cases: Mapping[str, Case], environments: Mapping[str, str]
    ) -> dict[str, Control]:
        """Run each case on one build that is known to show its bug, and count its hits."""
        bad = self.ledger.seen_bad(cases)
        by_build: dict[str, list[Batch]] = defaultdict(list)
        builds = {b.identity: b for b in request.controls}
        for case_hash, chosen in control_builds(list(cases.values()), request.controls, bad).items():
            batch = Batch(cases[case_hash], chosen, environments[chosen.identity], request.batch)
            batch.plan_control(self._rules)
            self._expect(batch)
            by_build[chosen.identity].append(batch)
        controls: dict[str, Control] = {}
        for identity, batches in by_build.items():
            self._progress.said(f"controls on {builds[identity].name}: {len(batches)} cases")
            for batch in self._run(builds[identity], batches, request):
                controls[batch.case.hash] = batch.as_control()
        return controls

    def _targets(self, build: Build, batches: Sequence[Batch], request: SweepRequest) -> Iterator[Cell]:
        """Run one build's cases; the verdict of each as soon as no further run of it is wanted."""
        if not batches:
            return
        possible = []
        for batch in batches:
            reason = cannot_run_here(batch.case, build)
            if reason is None:
                possible.append(batch)
            else:
                batch.seen = [Observation("cannot_run", None, reason)]
                self._progress.advanced(batch.planned)
                yield self._cell(batch)
        if possible:
            self._progress.said(f"{build.name}: {len(possible)} cases")
        for batch in self._run(build, possible, request):
            yield self._cell(batch)
        self.ledger.commit()

    def _cell(self, batch: Batch) -> Cell:
        """Decide, and queue the verdict for the database."""
        decision = batch.decide(self._rules)
        cell = Cell(batch.case, batch.build, batch.environment, batch.profile, batch.number, decision, fresh=True)
        self.ledger.keep_verdict(cell)
        return cell

    def _run(self, build: Build, batches: Sequence[Batch], request: SweepRequest) -> Iterator[Batch]:
        """Make the runs that these batches lack, in fresh zygotes; each batch when no further run of it is wanted."""
        self.ledger.recall(build, batches, request.since, self._rules)
        by_kind: dict[tuple[str, tuple[str, ...]], list[Batch]] = defaultdict(list)
        for batch in batches:
            self._progress.advanced(min(len(batch.seen), batch.planned))
            if batch.is_settled(self._rules):
                yield self._settled(batch)
            else:
                by_kind[batch.profile, batch.preload].append(batch)
        if not by_kind:
            return
        with ExitStack() as stack:
            stack.enter_context(self._registry.using(build))
            for (profile, preload), members in by_kind.items():
                runner = stack.enter_context(
                    Runner(build.python, profile, doctor.prove(), preload=preload, unsandboxed=self._unsandboxed)
                )
                yield from self._turns(runner, members, request.jobs)
        self.ledger.commit()

    def _turns(self, runner: Runner, members: Sequence[Batch], jobs: int) -> Iterator[Batch]:
        """Let one zygote after the other make its share, in waves of one run per case, so that a hit stops its case."""
        for turn in range(max(batch.turns(self._rules) for batch in members)):
            members = [batch for batch in members if not batch.is_settled(self._rules)]
            if not members:
                return
            if turn:
                runner.restart()
            for batch in members:
                batch.begin_turn()
            while injecting := [batch for batch in members if batch.wants_injection(turn, self._rules)]:
                for _ in self._wave(runner, injecting, turn, jobs, inject=True):
                    pass
            while wave := [batch for batch in members if batch.wants(turn, self._rules)]:
                for batch in self._wave(runner, wave, turn, jobs, inject=False):
                    if batch.is_settled(self._rules):
                        yield self._settled(batch)

    def _wave(self, runner: Runner, wave: Sequence[Batch], turn: int, jobs: int, *, inject: bool) -> Iterator[Batch]:
        """One run of each of these; each when its run has ended and counts."""
        attempts = {str(place): _attempt(str(place), batch, turn, inject=inject) for place, batch in enumerate(wave)}
        for result in runner.run(attempts.values(), jobs):
            batch = wave[int(result.key)]
            if batch.makes_again(result, self._rules):
                busy = f"it waited for a processor in {result.waited:.0f} of {result.duration:.0f} s"
                self._progress.said(f"{batch.case.name} is run again: {busy}")
                continue
            observation = observe(batch.case, result)
            if inject:
                batch.injected.append(observation)
            else:
                batch.take(observation, self._rules)
            number = (len(batch.injected) if inject else batch.made) - 1
            self.ledger.keep(batch, attempts[result.key], result, observation, number)
            if not inject and len(batch.seen) <= batch.planned:
                self._progress.advanced(1)
            yield batch

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


def _attempt(key: str, batch: Batch, turn: int, *, inject: bool) -> Attempt:
    case = batch.case
    return Attempt(
        key=key,
        code=case.code,
        name=f"{case.name}.py",
        seed=batch.seed(turn, len(batch.injected) if inject else batch.made),
        timeout=case.timeout,
        memory=max(LEAST_MEMORY, case.memory),
        threads=case.threads,
        finalise=case.finalise,
        inject=inject,
    )
