"""Where runs are made: a dispatcher takes batches or attempts and hands back their runs. It writes nothing.

There are two: this machine (``LocalDispatcher``), and the nodes of a Ray cluster (``run/cluster/``).
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from torch_embers.builds.registry import placed_here
from torch_embers.run.batch import memory_here
from torch_embers.run.schedule import Schedule
from torch_embers.sandbox import doctor
from torch_embers.sandbox.policy import REVIEWED
from torch_embers.sandbox.runner import PRELOAD, Runner

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from torch_embers.builds.registry import Build, Placed, Registry
    from torch_embers.progress import Progress
    from torch_embers.run.batch import Batch
    from torch_embers.run.turns import Made
    from torch_embers.run.verdict import Rules
    from torch_embers.sandbox.proof import Proof
    from torch_embers.sandbox.runner import Attempt, RunResult


@dataclass(frozen=True, slots=True)
class Zygote:
    """What runs are forked from.

    Attributes:
        profile: of the sandbox.
        preload: modules that it imports.
        start: seconds in which it must be ready; None for the usual number.
    """

    profile: str = REVIEWED
    preload: tuple[str, ...] = PRELOAD
    start: float | None = None


class Zygotes(Protocol):
    """Makes attempts on one build, in zygotes of one kind."""

    where: Mapping[str, object]
    """The environment of its runs, as the columns of the table ``environments`` without its key."""

    def run(self, attempts: Iterable[Attempt], jobs: int = 1) -> Iterator[RunResult]:
        """Each attempt's result as it comes, in any order; never raises for what a script does.

        Args:
            attempts: each with a key of its own.
            jobs: runs at a time on one machine.
        """

    def in_order(self, starts: Sequence[Sequence[Attempt]]) -> Iterator[RunResult]:
        """The results in order, each list of attempts in a freshly started zygote of its own.

        Whoever stops early needs no more of them: what was made ahead counts for nothing.
        """


class Dispatcher(Protocol):
    """Makes runs: those that batches want, and attempts."""

    side_by_side: bool
    """Whether runs on several builds are better asked for in one call."""

    def proof(self) -> Proof:
        """Which guarantees of the sandbox hold where runs are made; says what to ask for, and lets nothing run."""

    def memory(self) -> int:
        """Bytes of memory of the largest machine."""

    def survey(self, builds: Sequence[Build]) -> list[Placed]:
        """Those of these builds that are there already, each in the environment of its runs."""

    def prepare(self, build: Build) -> Placed:
        """Bring a build there that is not.

        Raises:
            BuildError: it cannot be had there.
        """

    def run(self, batches: Sequence[Batch], rules: Rules, jobs: int) -> Iterator[tuple[Batch, Made]]:
        """Make the runs that these batches lack; each run after its batch has taken it.

        Args:
            batches: not settled, their earlier runs recalled.
            rules: numbers of data/verdicts.toml.
            jobs: runs at a time on one machine.

        Raises:
            BuildError: a build is gone or has changed.
            SandboxError: the sandbox cannot give what a profile promises.
            ClusterError: the machines are gone.
        """

    def zygotes(self, build: Build, zygote: Zygote) -> AbstractContextManager[Zygotes]:
        """Zygotes of a build, which is held while the block runs.

        Raises:
            BuildError: the build is gone, has changed, or cannot be had where runs are made.
            SandboxError: the sandbox cannot give what the profile promises.
        """


class LocalDispatcher:
    """Makes runs on this machine, build by build.

    Args:
        registry: the installed builds.
        progress: is told which runs are made again.
        unsandboxed: let reviewed cases run with this user's rights where no sandbox can be had.
    """

    side_by_side = False

    def __init__(self, registry: Registry, progress: Progress, *, unsandboxed: bool = False) -> None:
        self._registry = registry
        self._progress = progress
        self._unsandboxed = unsandboxed
        self._warned = False

    def proof(self) -> Proof:
        """The proof of this host."""
        return doctor.prove()

    def memory(self) -> int:
        """Bytes of memory of this machine."""
        return memory_here()

    def survey(self, builds: Sequence[Build]) -> list[Placed]:
        """All of them: builds are chosen from this machine's registry."""
        return [self.prepare(build) for build in builds]

    def prepare(self, build: Build) -> Placed:
        """The build as it is."""
        return placed_here(build)

    def run(self, batches: Sequence[Batch], rules: Rules, jobs: int) -> Iterator[tuple[Batch, Made]]:
        """Make the runs in fresh zygotes, with one runner per build, profile and set of modules."""
        by_build: dict[str, list[Batch]] = defaultdict(list)
        for batch in batches:
            by_build[batch.build.identity].append(batch)
        with ExitStack() as stack:
            shares = []
            for own in by_build.values():
                build = stack.enter_context(self._registry.using(own[0].build))
                for (profile, preload), members in by_kind(own).items():
                    shares.append((self._runner(build, Zygote(profile, preload)), members))
            yield from Schedule(shares, rules, jobs, self._progress.said).run()

    @contextmanager
    def zygotes(self, build: Build, zygote: Zygote) -> Iterator[Zygotes]:
        """Zygotes of a build of this machine."""
        with self._registry.using(build), self._runner(build, zygote) as runner:
            yield _LocalZygotes(runner, placed_here(build).where)

    def _runner(self, build: Build, zygote: Zygote) -> Runner:
        if zygote.profile == REVIEWED and not self._warned:
            warn_without_sandbox(doctor.prove(), self._progress, unsandboxed=self._unsandboxed)
            self._warned = True
        return Runner(
            build.python,
            zygote.profile,
            doctor.prove(),
            preload=zygote.preload,
            unsandboxed=self._unsandboxed,
            start=zygote.start,
        )


class _LocalZygotes:
    """The zygotes of one runner."""

    def __init__(self, runner: Runner, where: Mapping[str, object]) -> None:
        self._runner, self.where = runner, where

    def run(self, attempts: Iterable[Attempt], jobs: int = 1) -> Iterator[RunResult]:
        """Make attempts in the zygotes that are there."""
        return self._runner.run(attempts, jobs)

    def in_order(self, starts: Sequence[Sequence[Attempt]]) -> Iterator[RunResult]:
        """Make one attempt after the other, each when it is asked for."""
        for number, attempts in enumerate(starts):
            if number:
                self._runner.restart()
            yield from self._runner.run(attempts)


def by_kind(batches: Sequence[Batch]) -> dict[tuple[str, tuple[str, ...]], list[Batch]]:
    """Batches by what a runner is made for: profile and modules that its zygotes import."""
    kinds: dict[tuple[str, tuple[str, ...]], list[Batch]] = defaultdict(list)
    for batch in batches:
        kinds[batch.profile, batch.preload].append(batch)
    return kinds


def most_turns(members: Sequence[Batch], rules: Rules) -> int:
    """Fresh zygotes that the runs of these batches may take."""
    return max(batch.turns(rules) for batch in members)


def warn_without_sandbox(proof: Proof, progress: Progress, *, unsandboxed: bool) -> None:
    """Say in one line that reviewed code runs with less than the whole sandbox, where that is so."""
    if proof.complete or not (proof.held or unsandboxed):  # without either nothing runs
        return
    reason = next(iter(proof.missing.values()))
    how = f"without {', '.join(proof.missing)}" if proof.held else "without a sandbox, with all your rights"
    progress.said(f"WARNING: reviewed cases run {how} ({reason}); see `embers doctor`")
