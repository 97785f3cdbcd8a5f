"""What a node of a cluster does: it says what it has, and makes shards by the ordinary loop. It imports no Ray.

A node trusts nothing that it is told about itself: it looks for a build in its own registry, and each start of a
sandbox rests on a proof of its own. What it does not do it refuses, with the reason.
"""

from __future__ import annotations

import platform
import tempfile
from dataclasses import dataclass, replace
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from torch_embers import resources, settings
from torch_embers.builds.registry import BuildError, Registry
from torch_embers.builds.work import Machine
from torch_embers.errors import SandboxError
from torch_embers.normalize import naive_utc
from torch_embers.progress import Silent
from torch_embers.run import state
from torch_embers.sandbox import doctor
from torch_embers.sandbox.policy import HOSTILE
from torch_embers.store.store import Store
from torch_embers.verdicts.batch import PROFILES
from torch_embers.verdicts.executor import Executor
from torch_embers.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from torch_embers.builds.registry import Build
    from torch_embers.builds.work import Shard
    from torch_embers.sandbox.proof import Proof
    from torch_embers.verdicts.executor import SweepRequest
    from torch_embers.verdicts.ledger import Cell

NO_FOLDER = Path("of a node")
"""What messages about a state call one that is in no folder."""


class ShardedWork(Protocol):
    """Work that is cut into shards; it travels to the nodes."""

    @property
    def scripts(self) -> Sequence[str]:
        """Keys by which it is cut."""

    @property
    def builds(self) -> Sequence[Build]:
        """Builds that a node must have."""

    @property
    def is_hostile(self) -> bool:
        """Whether it needs every guarantee of the sandbox."""

    def make(self, shard: Shard, registry: Registry) -> Any:
        """Make a shard on the builds of a node; what the driver gets.

        Raises:
            BuildError, SandboxError: this node cannot make it.
        """


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """What a node says of itself.

    Attributes:
        rules: digest of its code and of all that decides what a run says.
        proof: which guarantees its sandbox keeps.
        builds: identities of those that are installed there.
    """

    host: str
    rules: str
    proof: Proof
    builds: frozenset[str]

    def lacks(self, plan: ShardedWork) -> str | None:
        """Why it gets no shard of a plan; None where it may."""
        if self.rules != rules_here():
            return f"it has embers {self.rules}, this is {rules_here()}: install the same on all nodes"
        for build in plan.builds:
            if build.identity not in self.builds:
                return f"it has no {build.identity}: `embers builds add {build.public_version}` on that node"
        if plan.is_hostile and not self.proof.complete:
            name, why = next(iter(self.proof.missing.items()))
            return f"its sandbox is not complete, so scripts from issues are not run there: {name} ({why})"
        return None


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a node did not make a shard; another one may."""

    reason: str


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """A sweep.

    Attributes:
        seed: what the driver knows, by the name of the file of a state: it is not made again.
        unsandboxed: let reviewed cases run with the node's rights where it has no sandbox.
    """

    request: SweepRequest
    seed: Mapping[str, bytes]
    unsandboxed: bool = False

    @property
    def scripts(self) -> Sequence[str]:
        """Hashes of cases."""
        return [case.hash for case in self.request.cases]

    @property
    def builds(self) -> Sequence[Build]:
        """Targets and controls."""
        return list({build.identity: build for build in (*self.request.builds, *self.request.controls)}.values())

    @property
    def is_hostile(self) -> bool:
        """Whether a case comes from an issue."""
        return any(PROFILES[case.origin] == HOSTILE for case in self.request.cases)

    def make(self, shard: Shard, registry: Registry) -> tuple[list[Cell], dict[str, bytes]]:
        """The verdicts, and the state of a temporary database with the runs that they rest on."""
        own = {build.identity: build for build in registry.installed()}
        with tempfile.TemporaryDirectory(prefix="embers-shard-") as folder:
            store = Store(Path(folder) / "embers.duckdb")
            with store.writer("run", create=True) as writer:
                state.merge(writer, self.seed, NO_FOLDER)
                executor = Executor(store, writer, Machine(registry, unsandboxed=self.unsandboxed), Silent())
                request = replace(
                    self.request,
                    builds=[own[build.identity] for build in self.request.builds],
                    controls=[own[build.identity] for build in self.request.controls],
                    shard=shard,
                    since=min(self.request.since, naive_utc()) if self.request.since else None,  # clocks differ
                )
                cells = list(executor.sweep(request))
            return cells, state.packed(store, [case.hash for case in request.own])


def facts() -> NodeFacts:
    """What this node has; proves its sandbox."""
    return NodeFacts(
        platform.node(), rules_here(), doctor.prove(), frozenset(b.identity for b in _registry().installed())
    )


def make(plan: ShardedWork, shard: Shard) -> Any:
    """A shard, or the refusal of this node."""
    try:
        return plan.make(shard, _registry())
    except (BuildError, SandboxError) as error:
        return Refusal(str(error))


def _registry() -> Registry:
    return Registry(settings.load().builds_dir)


@cache
def rules_here() -> str:
    """Version of this embers, with a digest of its code and of all data that decides what a run says."""
    data = resources.data_file("verdicts.toml").parent
    return f"{__version__} ({digest(resources.PACKAGE_DIR, data)})"


def digest(package: Path, data: Path) -> str:
    """Of all code and SQL of a package, and of all rules, limits and thresholds: every TOML file of the data."""
    made = blake2b(digest_size=6)
    files: Iterable[Path] = (*package.rglob("*.py"), *package.rglob("*.sql"), *package.rglob("*.toml"))
    for home, paths in ((package, files), (data, data.glob("*.toml"))):
        for path in sorted(paths):
            if "_shipped" not in path.relative_to(home).parts:
                made.update(path.relative_to(home).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return made.hexdigest()
