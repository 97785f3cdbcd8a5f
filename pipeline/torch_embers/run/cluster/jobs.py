"""The jobs that a driver has for its nodes, and how work is cut into them. Pure.

A job has one task under way at a time; what its last task made, its driver takes before it gives the next one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from torch_embers.run.cluster.worker import Attempts, Turn, code_here
from torch_embers.run.dispatch import by_kind, most_turns

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from torch_embers.builds.registry import Placed
    from torch_embers.run.batch import Batch
    from torch_embers.run.cluster.limits import Limits
    from torch_embers.run.cluster.nodes import Node
    from torch_embers.run.cluster.worker import Task
    from torch_embers.run.dispatch import Zygote
    from torch_embers.run.verdict import Rules
    from torch_embers.sandbox.runner import Attempt

ACCELERATORS = {"cuda": "GPU"}
"""Device of a case -> Ray's resource, where Ray has one of its own; another device is a custom resource of its name."""


class Asked(NamedTuple):
    """What a task asks Ray for: CPUs, bytes of memory, other resources by name."""

    cpus: int
    memory: int
    others: dict[str, float]


@dataclass(slots=True)
class Job(ABC):
    """Work that goes to one node after the other until it is done.

    Attributes:
        losses: tasks of it that were lost.
        reasons: by host, what it refused (``lost`` where it was lost), and why.
        turn: tasks of it that are done.
    """

    turn: int = field(default=0, kw_only=True)
    losses: int = field(default=0, kw_only=True)
    reasons: dict[str, tuple[str, str]] = field(default_factory=dict, kw_only=True)

    @property
    @abstractmethod
    def kinds(self) -> tuple[tuple[str, str], ...]:
        """What a node may refuse for good, and this job needs."""

    @property
    @abstractmethod
    def size(self) -> int:
        """How many pieces of work it is, for people."""

    @abstractmethod
    def asks(self, nodes: Sequence[Node], limits: Limits) -> Asked:
        """What to ask Ray for: at most what one of these nodes has in all.

        Args:
            nodes: those that may do it.
            limits: numbers of data/cluster.toml.
        """

    @abstractmethod
    def task(self) -> Task | None:
        """The next task; None where there is nothing left to do."""


def asked(nodes: Sequence[Node], threads: int, memory: int, device: str = "cpu") -> Asked:
    """What to ask Ray for, at most what one of these nodes has in all."""
    room = max((node.memory for node in nodes), default=0)
    memory = min(memory, room)
    largest = max((node.cpus for node in nodes if node.memory >= memory), default=1)
    others = {} if device == "cpu" else {ACCELERATORS.get(device, device): 1.0}
    return Asked(max(1, min(threads, largest)), memory, others)


def fitting(nodes: Iterable[Node], job: Job, refused: Mapping[tuple[str, str], Collection[str]]) -> list[Node]:
    """The nodes that have not refused what a job needs, the least busy first."""
    able = [node for node in nodes if not any(node.ident in refused.get(kind, ()) for kind in job.kinds)]
    return sorted(able, key=lambda node: (node.busy / node.cpus, node.ident))


# ---- turns of batches ----------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Share(Job):
    """Batches that go through their turns together, a turn a task.

    Attributes:
        members: the batches of the present task.
    """

    batches: list[Batch]
    rules: Rules
    unsandboxed: bool = False
    members: list[Batch] = field(default_factory=list)

    @property
    def kinds(self) -> tuple[tuple[str, str], ...]:
        """Code, sandbox, build and environment."""
        first = self.batches[0]
        return _kinds(first.profile, first.build.identity, first.environment)

    @property
    def size(self) -> int:
        """Batches."""
        return len(self.batches)

    def asks(self, nodes: Sequence[Node], limits: Limits) -> Asked:
        """What the neediest of its cases declares."""
        cases = [batch.case for batch in self.batches]
        memory = max(limits.memory, *(case.memory for case in cases))
        return asked(nodes, max(case.threads for case in cases), memory, cases[0].device)

    def task(self) -> Turn | None:
        """The next turn of the batches that are not settled."""
        self.members = [batch for batch in self.batches if not batch.is_settled(self.rules)]
        if not self.members or self.turn >= most_turns(self.batches, self.rules):
            return None
        first = self.members[0]
        return Turn(
            code=code_here(),
            build=first.build,
            environment=first.environment,
            profile=first.profile,
            preload=first.preload,
            unsandboxed=self.unsandboxed,
            batches=tuple(self.members),
            turn=self.turn,
            rules=self.rules,
        )


def shares_of(
    batches: Sequence[Batch], cpus: int, limits: Limits, rules: Rules, *, unsandboxed: bool = False
) -> list[Share]:
    """Cut batches into tasks: of one build, profile, set of modules, device and number of threads.

    Cases are dealt out in turn, the slow ones first, so that no task gets all of these.
    """
    wanted = max(1.0, limits.tasks_per_cpu * cpus)
    size = int(min(max(len(batches) / wanted, limits.least_cases), limits.most_cases))
    groups: dict[tuple[str, str, int], list[Batch]] = defaultdict(list)
    for batch in batches:
        groups[batch.build.identity, batch.case.device, batch.case.threads].append(batch)
    shares = []
    for group in groups.values():
        for members in by_kind(group).values():
            count = -(-len(members) // size)
            ordered = sorted(members, key=lambda batch: -batch.case.timeout)
            shares += [Share(ordered[place::count], rules, unsandboxed) for place in range(count)]
    return shares


# ---- attempts ------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Start(Job):
    """Attempts that one fresh zygote makes.

    Attributes:
        place: its number among the starts.
        zygote: of which kind.
        placed: the build where its runs are made.
    """

    place: int
    attempts: Sequence[Attempt]
    zygote: Zygote
    placed: Placed
    environment: str
    unsandboxed: bool = False

    @property
    def kinds(self) -> tuple[tuple[str, str], ...]:
        """Code, sandbox, build and environment."""
        return _kinds(self.zygote.profile, self.placed.build.identity, self.environment)

    @property
    def size(self) -> int:
        """Attempts."""
        return len(self.attempts)

    def asks(self, nodes: Sequence[Node], limits: Limits) -> Asked:
        """The threads of the attempts; their bounds of memory are no needs."""
        return asked(nodes, max(attempt.threads for attempt in self.attempts), limits.memory)

    def task(self) -> Attempts | None:
        """All attempts, once."""
        if self.turn:
            return None
        return Attempts(
            code=code_here(),
            build=self.placed.build,
            environment=self.environment,
            profile=self.zygote.profile,
            preload=self.zygote.preload,
            unsandboxed=self.unsandboxed,
            start=self.zygote.start,
            attempts=tuple(self.attempts),
        )


def _kinds(profile: str, build: str, environment: str) -> tuple[tuple[str, str], ...]:
    return ("code", ""), ("sandbox", profile), ("build", build), ("environment", f"{build} {environment}")
