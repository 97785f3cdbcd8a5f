"""Gives runs to the nodes of a Ray cluster. The driver alone knows the database.

Runs of batches go turn by turn (``jobs.Share``): the driver adds them to its own batches, as they are when the task
comes back. Other attempts go start by start (``jobs.Start``).
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from torch_embers.builds.registry import environment_key
from torch_embers.run.cluster.jobs import Share, Start, shares_of
from torch_embers.run.cluster.limits import limits
from torch_embers.run.turns import take

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from torch_embers.builds.registry import Build, Placed
    from torch_embers.run.batch import Batch
    from torch_embers.run.cluster.crew import Crew
    from torch_embers.run.cluster.worker import Done
    from torch_embers.run.dispatch import Zygote
    from torch_embers.run.turns import Made
    from torch_embers.run.verdict import Rules
    from torch_embers.sandbox.proof import Proof
    from torch_embers.sandbox.runner import Attempt, RunResult


class RayDispatcher:
    """Makes runs on the nodes of a cluster.

    Args:
        crew: the nodes.
        unsandboxed: let reviewed cases run with the node's rights where it has no sandbox.
    """

    side_by_side = True

    def __init__(self, crew: Crew, *, unsandboxed: bool = False) -> None:
        self._crew = crew
        self._unsandboxed = unsandboxed

    def proof(self) -> Proof:
        """Of the node with most guarantees: what it says, to know what to ask for. Each node proves its own."""
        return max((node.facts.proof for node in self._crew.nodes.values()), key=lambda proof: len(proof.held))

    def memory(self) -> int:
        """Bytes of memory of the largest node."""
        return max(node.facts.memory for node in self._crew.nodes.values())

    def survey(self, builds: Sequence[Build]) -> list[Placed]:
        """The builds that a node has."""
        return [placed for build in builds if (placed := self._crew.placed(build)) is not None]

    def prepare(self, build: Build) -> Placed:
        """Let one node after the other try to install a build.

        Raises:
            BuildError: none can.
        """
        return self._crew.prepare(build)

    def run(self, batches: Sequence[Batch], rules: Rules, jobs: int) -> Iterator[tuple[Batch, Made]]:
        """Make the runs that these batches lack, on all nodes at once.

        ``jobs`` is not used: a task makes one run at a time, and there are as many tasks as the nodes have CPUs.

        Raises:
            SandboxError, BuildError, ClusterError: as ``Crew.work``.
        """
        del jobs
        shares = shares_of(batches, self._crew.cpus, limits(), rules, unsandboxed=self._unsandboxed)
        for share, done in self._crew.work(shares):
            yield from _taken(share, done)

    @contextmanager
    def zygotes(self, build: Build, zygote: Zygote) -> Iterator[_Zygotes]:
        """Zygotes of one kind, on all nodes.

        Raises:
            BuildError: no node has the build or can install it.
        """
        placed = self._crew.placed(build) or self._crew.prepare(build)
        yield _Zygotes(self._crew, placed, zygote, unsandboxed=self._unsandboxed)


def _taken(share: Share, done: Done) -> Iterator[tuple[Batch, Made]]:
    """Take what came of a turn into the driver's own batches."""
    for batch in share.members:
        batch.begin_turn()
    for place, made in done.made:
        batch = share.members[place]
        yield batch, take(batch, made.attempt, made.result, made.observation, share.rules)


class _Zygotes:
    """Zygotes of one kind on the nodes of a cluster."""

    def __init__(self, crew: Crew, placed: Placed, zygote: Zygote, *, unsandboxed: bool) -> None:
        self._crew, self._placed, self._zygote, self._unsandboxed = crew, placed, zygote, unsandboxed
        self.where = placed.where

    def run(self, attempts: Iterable[Attempt], jobs: int = 1) -> Iterator[RunResult]:
        """Make attempts, several in one start; ``jobs`` is not used."""
        del jobs
        asked, own = list(attempts), limits()
        fitting = round(len(asked) / (own.tasks_per_cpu * max(1, self._crew.cpus)))
        size = max(1, min(fitting, own.most_attempts))
        for _, done in self._crew.work(self._starts([asked[at : at + size] for at in range(0, len(asked), size)])):
            yield from done.made

    def in_order(self, starts: Sequence[Sequence[Attempt]]) -> Iterator[RunResult]:
        """Make starts, all at once; what is not asked for any more is dropped."""
        came: dict[int, Sequence[RunResult]] = {}
        place = 0
        for start, done in self._crew.work(self._starts(starts)):
            came[start.place] = done.made
            while place in came:
                yield from came.pop(place)
                place += 1

    def _starts(self, groups: Sequence[Sequence[Attempt]]) -> list[Start]:
        environment = environment_key(self._placed.where.items())
        return [
            Start(place, group, self._zygote, self._placed, environment, self._unsandboxed)
            for place, group in enumerate(groups)
            if group
        ]
