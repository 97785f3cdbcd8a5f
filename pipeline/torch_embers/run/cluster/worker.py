"""What a node of a cluster does: it says what it has, brings builds there, and does tasks. It imports no Ray.

A node trusts nothing that it is told about itself. It looks for a build in its own registry or installs it, proves its
own sandbox, and compares its environment with the one that the runs belong to. What it does not do it refuses, with
the reason. It never sees the database. What a task is, its class says: runs here, texts in ``embedding.py``.
"""

from __future__ import annotations

import fcntl
import platform
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from torch_embers import resources, settings
from torch_embers.builds.install import add_for
from torch_embers.builds.registry import (
    BuildError,
    Registry,
    environment_key,
    environment_text,
    machine_here,
    placed_here,
)
from torch_embers.errors import EmbersError, SandboxError
from torch_embers.progress import Silent
from torch_embers.run.batch import memory_here
from torch_embers.run.turns import make_turn
from torch_embers.sandbox import doctor
from torch_embers.sandbox.runner import Runner
from torch_embers.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from torch_embers.builds.registry import Build, Placed
    from torch_embers.run.batch import Batch
    from torch_embers.run.turns import Made
    from torch_embers.run.verdict import Rules
    from torch_embers.sandbox.proof import Proof
    from torch_embers.sandbox.runner import Attempt, RunResult

What = Literal["code", "build", "environment", "sandbox", "encoder"]
"""What a node may lack."""
RULES = ("verdicts.toml", "sandbox.toml", "builds.toml")
"""Data files that decide what a run says."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What a node says of itself.

    Attributes:
        host: its name.
        code: version and digest of the embers that is installed there.
        machine: system and processor, as environments have them.
        memory: bytes.
        proof: which guarantees its sandbox keeps; the driver reads it, and sends it to nobody.
        builds: that are installed there, each in its environment.
    """

    host: str
    code: str
    machine: tuple[str, str]
    memory: int
    proof: Proof
    builds: tuple[Placed, ...]


@dataclass(frozen=True, slots=True)
class Done:
    """What became of a task.

    Attributes:
        made: what the task makes; its class says what that is.
        where: environment in which the runs were made; empty where there were none.
        lines: for the driver's progress.
    """

    host: str
    made: Any
    where: Mapping[str, object] = field(default_factory=dict)
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a node does not do a task; another one may."""

    what: What
    host: str
    reason: str


class RefusedError(EmbersError):
    """A node does not do a task, for a reason that has no error of its own."""

    def __init__(self, what: What, reason: str) -> None:
        super().__init__(reason)
        self.what: What = what


class Task(Protocol):
    """What a node is asked to do."""

    @property
    def code(self) -> str:
        """The driver's own; a node with another one refuses."""

    def make(self, lines: list[str]) -> tuple[Any, Mapping[str, object]]:
        """What is made, and the environment of its runs.

        Args:
            lines: takes what the driver's progress should say.

        Raises:
            RefusedError, BuildError, SandboxError: this node does not do it.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class OnBuild:
    """What a task needs that makes runs on a build.

    Attributes:
        build: what its identity names; its path is the driver's.
        environment: key of the environment that the runs belong to.
        profile: of the sandbox.
        preload: modules that the zygote imports.
        start: seconds in which the zygote must be ready; None for the usual number.
    """

    code: str
    build: Build
    environment: str
    profile: str
    preload: tuple[str, ...]
    unsandboxed: bool = False
    start: float | None = None

    @contextmanager
    def runner(self) -> Iterator[tuple[Runner, Mapping[str, object]]]:
        """A runner of this node, and its environment."""
        build = _own(self.build)
        where = placed_here(build).where
        if environment_key(where.items()) != self.environment:
            raise RefusedError("environment", f"its environment is {environment_text(where)}")
        with (
            _trusted(build),
            Runner(
                build.python,
                self.profile,
                doctor.prove(),
                preload=self.preload,
                unsandboxed=self.unsandboxed,
                start=self.start,
            ) as runner,
        ):
            yield runner, where


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn(OnBuild):
    """One turn of some batches of one build, profile and set of modules; each run with the place of its batch.

    Attributes:
        batches: not settled.
        turn: number of the turn, from 0.
    """

    batches: tuple[Batch, ...]
    turn: int
    rules: Rules

    def make(self, lines: list[str]) -> tuple[tuple[tuple[int, Made], ...], Mapping[str, object]]:
        """All runs of the turn."""
        with self.runner() as (runner, where):
            return tuple(make_turn(runner, self.batches, self.turn, 1, self.rules, lines.append)), where


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempts(OnBuild):
    """Some attempts in one fresh zygote, one after the other; their results in order."""

    attempts: tuple[Attempt, ...]

    def make(self, lines: list[str]) -> tuple[tuple[RunResult, ...], Mapping[str, object]]:
        """All results."""
        del lines
        with self.runner() as (runner, where):
            return tuple(runner.run(self.attempts)), where


def facts() -> Facts:
    """What this node is and has; proves its sandbox."""
    return Facts(
        platform.node(),
        code_here(),
        machine_here(),
        memory_here(),
        doctor.prove(),
        tuple(placed_here(build) for build in _registry().installed()),
    )


def prepare(build: Build) -> Placed | Refusal:
    """Find a build here, or install it."""
    try:
        return placed_here(_own(build))
    except BuildError as error:
        return Refusal("build", platform.node(), str(error))


def do(task: Task) -> Done | Refusal:
    """Do a task; all of it or nothing."""
    host, lines = platform.node(), list[str]()
    try:
        if task.code != code_here():
            reason = f"it has embers {code_here()}, this is {task.code}: install the same on all nodes"
            raise RefusedError("code", reason)
        made, where = task.make(lines)
    except RefusedError as error:
        return Refusal(error.what, host, str(error))
    except BuildError as error:
        return Refusal("build", host, str(error))
    except SandboxError as error:
        return Refusal("sandbox", host, str(error))
    return Done(host, made, where, tuple(lines))


@cache
def code_here() -> str:
    """Version of this embers, with a digest of its sources and of the rules that decide what a run says."""
    digest = blake2b(digest_size=6)
    package = Path(str(resources.package_file("run", "cluster", "worker.py"))).parents[2]
    for path in sorted(package.rglob("*.py")):
        digest.update(path.relative_to(package).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    for name in RULES:
        digest.update(resources.data_file(name).read_bytes() + b"\0")
    return f"{__version__} ({digest.hexdigest()})"


# ---- builds --------------------------------------------------------------------------------------------------------


def _registry() -> Registry:
    return Registry(settings.load().builds_dir)


def _own(build: Build) -> Build:
    """The same build in this node's registry; a release that is not there is installed.

    Raises:
        BuildError: it is not here and cannot be had.
    """
    if (known := _known(build)) is not None:
        return known
    if build.channel != "release":
        raise BuildError(f"{build.identity} is not installed there and is no release: `embers builds add` on that node")
    with _installing():
        if (known := _known(build)) is not None:
            return known
        made = add_for(settings.load(), build.public_version, "", "", Silent())
    if made.identity != build.identity:
        raise BuildError(f"what it installed is {made.identity}, not {build.identity}")
    return made


def _known(build: Build) -> Build | None:
    return next((own for own in _registry().installed() if own.identity == build.identity), None)


@contextmanager
def _installing() -> Iterator[None]:
    """One installation at a time on a machine, however many tasks want the same build."""
    home = _registry().folder / ".locks"
    home.mkdir(parents=True, exist_ok=True)
    with (home / ".install").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


_looked: dict[str, object] = {}
"""Builds that this process has asked what they are, with the state of their torch then."""


@contextmanager
def _trusted(build: Build) -> Iterator[None]:
    """Hold a build; ask it what it is the first time and after a change: a worker makes many turns on the same build.

    Raises:
        BuildError: it is gone, or has become another build.
    """
    registry, state = _registry(), _state(build)
    if state is not None and _looked.get(build.identity) == state:
        with registry.locked(build, exclusive=False):
            yield
        return
    with registry.using(build):
        _looked[build.identity] = state
        yield


def _state(build: Build) -> object:
    """What changes with the torch of a build; None where that cannot be seen."""
    found = sorted(build.python.parent.parent.glob("lib/python*/site-packages/torch/__init__.py"))
    return tuple((str(path), path.stat().st_mtime_ns, path.stat().st_ino) for path in found) or None
