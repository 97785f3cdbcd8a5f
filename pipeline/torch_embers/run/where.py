"""Opens what does the work of a command: this machine, or the nodes of a Ray cluster (`--executor`, `--address`)."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch_embers import packages
from torch_embers.errors import InputError
from torch_embers.run.dispatch import LocalDispatcher, warn_without_sandbox

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from torch_embers.builds.registry import Registry
    from torch_embers.classify.embedding.embedder import Embedder
    from torch_embers.progress import Progress
    from torch_embers.run.cluster.crew import Crew
    from torch_embers.run.dispatch import Dispatcher

LOCAL, RAY = "local", "ray"


@dataclass(frozen=True, slots=True)
class Where:
    """Where runs are made.

    Attributes:
        executor: local or ray.
        address: with ray: HOST:PORT of the cluster, or ``auto``; None for a Ray of our own on this machine.

    Raises:
        InputError: no such executor, or an address without Ray.
    """

    executor: str = LOCAL
    address: str | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be meant."""
        if self.executor not in (LOCAL, RAY):
            raise InputError(f"--executor {self.executor}: use {LOCAL} or {RAY}")
        if self.executor == LOCAL and self.address is not None:
            raise InputError("--address is the address of a Ray cluster: give --executor ray with it")


HERE = Where()


@contextmanager
def opened(
    where: Where, registry: Registry, progress: Progress, *, jobs: int, unsandboxed: bool = False
) -> Iterator[Dispatcher]:
    """The dispatcher, while the block runs.

    Args:
        where: what was asked for.
        registry: builds of this machine.
        progress: is told of nodes and of runs that are made again.
        jobs: CPUs of a Ray of our own.
        unsandboxed: let reviewed cases run with the user's rights where no sandbox can be had.

    Raises:
        MissingPackageError: Ray is not installed.
        ClusterError: the cluster cannot be used.
    """
    if where.executor == LOCAL:
        yield LocalDispatcher(registry, progress, unsandboxed=unsandboxed)
        return
    with _cluster(where, jobs, registry.folder, progress) as crew:
        from torch_embers.run.cluster.dispatcher import RayDispatcher

        remote = RayDispatcher(crew, unsandboxed=unsandboxed)
        warn_without_sandbox(remote.proof(), progress, unsandboxed=unsandboxed)
        yield remote


@contextmanager
def embedding(where: Where, builds: Path, progress: Progress, *, jobs: int) -> Iterator[Callable[[Embedder], Embedder]]:
    """What makes of an embedder one that embeds there, while the block runs.

    Args:
        where: what was asked for.
        builds: folder of the builds of this machine.
        progress: is told of nodes.
        jobs: CPUs of a Ray of our own.

    Raises:
        MissingPackageError: Ray is not installed.
        ClusterError: the cluster cannot be used.
    """
    if where.executor == LOCAL:
        yield lambda own: own
        return
    with _cluster(where, jobs, builds, progress) as crew:
        from torch_embers.run.cluster.embedding import ClusterEmbedder

        yield lambda own: ClusterEmbedder(own, crew)


@contextmanager
def _cluster(where: Where, jobs: int, builds: Path, progress: Progress) -> Iterator[Crew]:
    packages.require("cluster", "--executor ray needs")
    from torch_embers.run.cluster.connection import connected

    with connected(where.address, jobs, builds):
        from torch_embers.run.cluster.crew import Crew  # it imports Ray, which the connection prepares

        yield Crew(progress)
