"""Runs cases on builds and turns the runs into verdicts: the one way to do so, for `run` and `recheck`.

Work is keyed by case, build, environment, series and attempt. Every finished run is stored before its verdict, so an
interrupted sweep goes on where it was, and asking again costs nothing. A sweep has two halves: first the controls, each
case on one build that is known to show its bug, then the targets, whose number of runs follows from the control.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from torch_embers.run.ledger import Cell, Ledger
from torch_embers.run.series import Series, cannot_run_here, control_builds
from torch_embers.run.verdict import Control, Observation, Rules, judge
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
class Wish:
    """What a sweep is asked for.

    Attributes:
        cases: which cases.
        builds: on which builds, in order of release.
        controls: builds on which controls may run.
        jobs: runs at a time.
        batch: number of the series; a higher one than before starts from nothing.
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
        watcher: who is told about progress.
        rules: numbers of data/verdicts.toml.
    """

    def __init__(
        self, store: Store, writer: Writer, registry: Registry, watcher: Progress, rules: Rules | None = None
    ) -> None:
        self.ledger = Ledger(store, writer)
        self._registry = registry
        self._watcher = watcher
        self._rules = rules or Rules.load()

    def afresh(self, wish: Wish) -> Wish:
        """The same wish, with a new series of runs although verdicts are known."""
        return replace(wish, batch=self.ledger.last_batch() + 1, since=datetime.now(UTC).replace(tzinfo=None))

    def sweep(self, wish: Wish) -> Iterator[Cell]:
        """Verdicts for every case on every build, as they are reached; those known already come first.

        Raises:
            BuildError: a build is gone or has changed.
            SandboxError: the sandbox cannot give what a profile promises.
            StoreError: the database cannot be used.
        """
        self._watcher.expects(len(wish.cases) * len(wish.builds))
        environments = self.ledger.note_builds({b.identity: b for b in (*wish.builds, *wish.controls)}.values())
        known = self._without_outdated(wish, self.ledger.verdicts(wish.cases, wish.builds, environments, wish.since))
        for cell in sorted(known.values(), key=lambda cell: (cell.build.order(), cell.case.name)):
            self._watcher.advanced(1)
            yield cell
        todo = [
            Series(case, build, environments[build.identity], wish.batch)
            for build in wish.builds
            for case in wish.cases
            if (case.hash, build.identity) not in known
        ]
        if not todo:
            return
        controls = self._controls(wish, {one.case.hash: one.case for one in todo}, environments)
        doubtful = []
        for build in wish.builds:
            own = [one for one in todo if one.build.identity == build.identity]
            for one in own:
                one.plan(controls.get(one.case.hash, Control()), self._rules)
            for cell in self._targets(build, own, wish):
                self._watcher.advanced(1)
                if lacks_control(cell):
                    doubtful.append(cell)
                else:
                    yield cell
        yield from self._second_look(wish, doubtful, environments)

    def _without_outdated(self, wish: Wish, known: Mapping[tuple[str, str], Cell]) -> dict[tuple[str, str], Cell]:
        """The known verdicts, but for bugs that were not seen when no build was known to show them, and now one is."""
        unseen = {cell.case.hash: cell.case for cell in known.values() if lacks_control(cell)}
        served = control_builds(list(unseen.values()), wish.controls, self.ledger.seen_bad(unseen))
        return {key: cell for key, cell in known.items() if cell.case.hash not in served or not lacks_control(cell)}

    def _second_look(self, wish: Wish, cells: Sequence[Cell], environments: Mapping[str, str]) -> Iterator[Cell]:
        """Where a case was not seen, but this sweep has found a build that shows it: that build is the control."""
        bad = self.ledger.seen_bad({cell.case.hash for cell in cells})
        again = [cell for cell in cells if cell.case.hash in bad]
        yield from (cell for cell in cells if cell.case.hash not in bad)
        controls = self._controls(wish, {cell.case.hash: cell.case for cell in again}, environments)
        for build in wish.builds:
            own = []
            for cell in (c for c in again if c.build.identity == build.identity):
                one = Series(cell.case, build, cell.environment, cell.batch)
                one.plan(controls.get(cell.case.hash, Control()), self._rules)
                own.append(one)
            yield from self._targets(build, own, wish)

    def _controls(self, wish: Wish, cases: Mapping[str, Case], environments: Mapping[str, str]) -> dict[str, Control]:
        """Run each case on one build that is known to show its bug, and count its hits."""
        bad = self.ledger.seen_bad(cases)
        by_build: dict[str, list[Series]] = defaultdict(list)
        builds = {b.identity: b for b in wish.controls}
        for case_hash, chosen in control_builds(list(cases.values()), wish.controls, bad).items():
            one = Series(cases[case_hash], chosen, environments[chosen.identity], wish.batch)
            one.plan_control(self._rules)
            by_build[chosen.identity].append(one)
        found: dict[str, Control] = {}
        for identity, series in by_build.items():
            self._watcher.said(f"controls on {builds[identity].name}: {len(series)} cases")
            self._run(builds[identity], series, wish)
            found |= {one.case.hash: one.as_control() for one in series}
        return found

    def _targets(self, build: Build, series: Sequence[Series], wish: Wish) -> Iterator[Cell]:
        """Run one build's cases and decide."""
        if not series:
            return
        possible = []
        for one in series:
            reason = cannot_run_here(one.case, build)
            if reason is None:
                possible.append(one)
            else:
                one.seen = [Observation("cannot_run", None, reason)]
        self._watcher.said(f"{build.name}: {len(possible)} cases")
        self._run(build, possible, wish)
        cells = [
            Cell(one.case, build, one.environment, one.profile, one.batch, one.decide(self._rules), fresh=True)
            for one in series
        ]
        self.ledger.commit(cells)
        yield from cells

    def _run(self, build: Build, series: Sequence[Series], wish: Wish) -> None:
        """Make the runs that these series lack, spread over freshly started zygotes."""
        self.ledger.recall(build, series, wish.since)
        by_profile: dict[str, list[Series]] = defaultdict(list)
        for one in series:
            if not one.is_settled(self._rules):
                by_profile[one.profile].append(one)
        if not by_profile:
            return
        with ExitStack() as stack:
            stack.enter_context(self._registry.using(build))
            for profile, members in by_profile.items():
                runner = stack.enter_context(Runner(build.python, profile, doctor.prove()))
                self._turns(runner, members, wish.jobs)
        self.ledger.commit()

    def _turns(self, runner: Runner, members: Sequence[Series], jobs: int) -> None:
        """Let one zygote after the other make its share, in waves of one run per case, so that a hit stops its case."""
        for turn in range(self._rules.zygotes):
            if all(one.is_settled(self._rules) for one in members):
                return
            if turn:
                runner.restart()
            for one in members:
                one.begin_turn()
            self._wave(runner, [one for one in members if one.wants_plant(turn, self._rules)], turn, jobs, plant=True)
            while wave := [one for one in members if one.wants(turn, self._rules)]:
                self._wave(runner, wave, turn, jobs, plant=False)

    def _wave(self, runner: Runner, wave: Sequence[Series], turn: int, jobs: int, *, plant: bool) -> None:
        """One run of each of these."""
        attempts = {str(place): _attempt(str(place), one, turn, plant=plant) for place, one in enumerate(wave)}
        for result in runner.run(attempts.values(), jobs):
            one = wave[int(result.key)]
            said = judge(one.case, result)
            kept = one.plants if plant else one.seen
            kept.append(said)
            self.ledger.keep(one, attempts[result.key], result, said, len(kept) - 1)


def lacks_control(cell: Cell) -> bool:
    """Whether a bug was not seen, and no build served as control: one that shows it would decide."""
    return cell.decision.verdict == "not_seen" and cell.decision.control.kind != "build"


def _attempt(key: str, one: Series, turn: int, *, plant: bool) -> Attempt:
    case = one.case
    return Attempt(
        key=key,
        code=case.code,
        name=f"{case.name}.py",
        seed=1_000_000 * one.batch + 1_000 * turn + len(one.seen),
        timeout=case.timeout,
        memory=max(LEAST_MEMORY, case.memory),
        threads=case.threads,
        finalise=case.finalise,
        plant=plant,
    )
