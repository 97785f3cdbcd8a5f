"""Work: one script, one build, one environment, one attempt; how it is divided among machines, and made on this one.

A plan (a sweep of cases, scripts under oracles, tests of fixes, reductions, a hunt) says which scripts it has and what
is wanted of each; what is known already is not made again. What is compared with one another, the builds and attempts
of one script, stays on one machine: a shard of a plan is those of its scripts whose hash falls to it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Generic, Protocol, Self, TypeVar

from torch_embers.builds.registry import environment_key
from torch_embers.errors import InputError
from torch_embers.normalize import now_utc
from torch_embers.progress import Silent
from torch_embers.sandbox import doctor
from torch_embers.sandbox.policy import REVIEWED
from torch_embers.sandbox.runner import PRELOAD, Attempt, Runner
from torch_embers.store import rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from torch_embers.builds.registry import Build, Registry
    from torch_embers.progress import Progress
    from torch_embers.sandbox.proof import Proof
    from torch_embers.sandbox.runner import RunResult
    from torch_embers.store.writer import Writer

Subject = TypeVar("Subject")


@dataclass(frozen=True, slots=True)
class Shard:
    """The ``number``-th (from 1) of ``of`` parts of a plan: every machine divides alike, whatever else it holds."""

    number: int = 1
    of: int = 1

    @classmethod
    def read(cls, text: str) -> Self:
        """The shard that ``i/n`` names.

        Raises:
            InputError: it is no such pair.
        """
        pair = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text)
        if pair is None or not 1 <= int(pair[1]) <= int(pair[2]):
            raise InputError(f"--shard {text[:40]}: give i/n with i from 1 to n, as 1/4")
        return cls(int(pair[1]), int(pair[2]))

    def has(self, script: str) -> bool:
        """Whether the script of this key is part of it: the hash of a case, or the name of what has none."""
        return int.from_bytes(blake2b(script.encode(), digest_size=8).digest()) % self.of == self.number - 1

    def __str__(self) -> str:
        """As ``--shard`` takes it."""
        return f"{self.number}/{self.of}"


WHOLE = Shard()


@dataclass(frozen=True, slots=True)
class Work(Generic[Subject]):
    """One attempt of a script on a build.

    Attributes:
        subject: what the script is of: a case, the test of a fix.
        attempt: its key is one of its own among the attempts that are made together.
        profile: of the sandbox.
        preload: modules that its zygote imports.
    """

    subject: Subject
    build: Build
    attempt: Attempt
    profile: str
    preload: tuple[str, ...] = PRELOAD


class Wanted(Protocol):
    """Something that a runner makes: a batch, or a single attempt."""

    @property
    def build(self) -> Build:
        """Where it runs."""

    @property
    def profile(self) -> str:
        """Profile of the sandbox."""

    @property
    def preload(self) -> tuple[str, ...]:
        """Modules that its zygotes import."""


AnyWanted = TypeVar("AnyWanted", bound=Wanted)


@dataclass(slots=True)
class Machine:
    """The machine that this process runs on.

    Attributes:
        registry: its builds.
        unsandboxed: let reviewed cases run with this user's rights where no sandbox can be had.
        progress: is told once where they do, or where a part of the sandbox is missing.
        warned: whether it was told.
    """

    registry: Registry
    unsandboxed: bool = False
    progress: Progress = field(default_factory=Silent)
    warned: bool = False

    def runner(
        self,
        build: Build,
        profile: str = REVIEWED,
        preload: tuple[str, ...] = PRELOAD,
        start: float | None = None,
        seed: int | None = None,
    ) -> Runner:
        """What makes runs on a build.

        Args:
            build: it is held by the caller.
            profile: of the sandbox.
            preload: modules that its zygotes import.
            start: seconds in which a zygote must be ready; None for the usual number.
            seed: hash seed of its zygotes; None for random ones.

        Raises:
            SandboxError: the sandbox cannot give what the profile promises.
        """
        if profile == REVIEWED and not self.warned:
            warn_without_sandbox(doctor.prove(), self.progress, unsandboxed=self.unsandboxed)
            self.warned = True
        return Runner(
            build.python,
            profile,
            doctor.prove(),
            preload=preload,
            unsandboxed=self.unsandboxed,
            start=start,
            seed=seed,
        )

    @contextmanager
    def on(
        self, build: Build, profile: str = REVIEWED, preload: tuple[str, ...] = PRELOAD, start: float | None = None
    ) -> Iterator[Runner]:
        """The same, on a build that is held while the block runs.

        Raises:
            BuildError: the build is gone, or has become another one.
        """
        with self.registry.using(build), self.runner(build, profile, preload, start) as runner:
            yield runner

    @contextmanager
    def shares(self, wanted: Iterable[AnyWanted]) -> Iterator[list[tuple[Runner, list[AnyWanted]]]]:
        """What is wanted, by runner: one per build, profile and set of modules; the builds are held in the block."""
        by_kind: dict[tuple[str, str, tuple[str, ...]], list[AnyWanted]] = defaultdict(list)
        for one in wanted:
            by_kind[one.build.identity, one.profile, one.preload].append(one)
        builds = {members[0].build.identity: members[0].build for members in by_kind.values()}
        with ExitStack() as stack:
            for build in builds.values():
                stack.enter_context(self.registry.using(build))
            yield [
                (self.runner(builds[identity], profile, preload), members)
                for (identity, profile, preload), members in by_kind.items()
            ]

    def make(self, works: Iterable[Work[Subject]], jobs: int) -> Iterator[tuple[Work[Subject], RunResult]]:
        """Make attempts, build by build, ``jobs`` at a time; each with its result as it comes.

        Raises:
            BuildError, SandboxError: as of their makers.
        """
        by_build: dict[str, list[Work[Subject]]] = defaultdict(list)
        for work in works:
            by_build[work.build.identity].append(work)
        for own in by_build.values():
            with self.shares(own) as shares:
                for runner, members in shares:
                    by_key = {work.attempt.key: work for work in members}
                    with runner:
                        for result in runner.run((work.attempt for work in members), jobs):
                            yield by_key[result.key], result


def warn_without_sandbox(proof: Proof, progress: Progress, *, unsandboxed: bool) -> None:
    """Say in one line that reviewed code runs with less than the whole sandbox, where that is so."""
    if proof.complete or not (proof.held or unsandboxed):  # without either nothing runs
        return
    reason = next(iter(proof.missing.values()))
    how = f"without {', '.join(proof.missing)}" if proof.held else "without a sandbox, with all your rights"
    progress.said(f"WARNING: reviewed cases run {how} ({reason}); see `embers doctor`")


def note_builds(writer: Writer, places: Iterable[tuple[Build, Mapping[str, object]]]) -> dict[str, str]:
    """Write builds, and where each runs (columns of ``environments``); return the environment's key by the identity."""
    keys, noted, environments = {}, [], {}
    moment = now_utc()
    for build, where in places:
        keys[build.identity] = key = environment_key(where.items())
        environments[key] = {"environment": key, **where, "seen_at": moment}
        same = {name: getattr(build, name) for name in ("name", "version", "git_commit", "channel", "platform")}
        noted.append({"build": build.identity, **same, "python": build.python_version, "seen_at": moment})
    with writer.transaction() as connection:
        rows.replace(connection, "environments", ("environment",), list(environments.values()))
        rows.replace(connection, "builds", ("build",), noted)
    return keys
