"""Which nodes take part, and how batches are cut into tasks. Pure."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from torch_embers.builds.registry import environment_key
from torch_embers.run.dispatch import by_kind

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from torch_embers.builds.registry import Placed
    from torch_embers.run.batch import Batch
    from torch_embers.run.cluster.limits import Limits
    from torch_embers.run.cluster.worker import Facts

ACCELERATORS = {"cuda": "GPU"}
"""Device of a case -> Ray's resource, where Ray has one of its own; another device is a custom resource of its name."""


@dataclass(slots=True)
class Node:
    """A node of the cluster.

    Attributes:
        ident: Ray's identity of it.
        total: Ray's resources: CPU, memory (bytes), GPU, custom ones.
        facts: what it says of itself.
        busy: CPUs that tasks of this sweep hold now.
    """

    ident: str
    total: Mapping[str, float]
    facts: Facts
    busy: int = 0

    @property
    def cpus(self) -> int:
        """Processors that Ray may give away."""
        return int(self.total.get("CPU", 0))

    @property
    def memory(self) -> int:
        """Bytes that Ray may give away."""
        return int(self.total.get("memory", 0))

    def environment(self, identity: str) -> Placed | None:
        """A build as this node has it."""
        return next((placed for placed in self.facts.builds if placed.build.identity == identity), None)


@dataclass(slots=True)
class Share:
    """Batches that go through their turns together, a turn a task.

    Attributes:
        turn: the next one.
        losses: tasks of it that were lost.
        reasons: by host, what it refused (``lost`` where it was lost), and why.
    """

    batches: list[Batch]
    turn: int = 0
    losses: int = 0
    reasons: dict[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def kinds(self) -> tuple[tuple[str, str], ...]:
        """What a node may refuse for good, and this share needs."""
        first = self.batches[0]
        build, place = first.build.identity, first.environment
        return ("code", ""), ("sandbox", first.profile), ("build", build), ("environment", f"{build} {place}")

    def asks(self, nodes: Sequence[Node], limits: Limits) -> tuple[int, int, dict[str, float]]:
        """CPUs, bytes of memory and other resources to ask Ray for: at most what one of these nodes has in all.

        Args:
            nodes: those that may do it.
            limits: numbers of data/cluster.toml.
        """
        cases = [batch.case for batch in self.batches]
        room = max((node.memory for node in nodes), default=0)
        memory = min(max(limits.memory, *(case.memory for case in cases)), room)
        largest = max((node.cpus for node in nodes if node.memory >= memory), default=1)
        cpus = max(1, min(max(case.threads for case in cases), largest))
        device = cases[0].device
        return cpus, memory, {} if device == "cpu" else {ACCELERATORS.get(device, device): 1.0}


def same_kind(nodes: Sequence[Node], here: tuple[str, str], code: str) -> tuple[list[Node], list[str]]:
    """The nodes that a sweep uses, and a line for each kind of node that it leaves out.

    Controls and targets must be comparable, so a sweep keeps to one kind of machine (system and processor): the one
    with most CPUs, of equals the one that the driver has.

    Args:
        nodes: all that answered.
        here: system and processor of the driver.
        code: of the driver's embers.
    """
    left_out = [
        f"node {node.facts.host} is left out: it has embers {node.facts.code}, this is {code}"
        for node in nodes
        if node.facts.code != code
    ]
    kinds: dict[tuple[str, str], list[Node]] = defaultdict(list)
    for node in nodes:
        if node.facts.code == code and node.cpus:
            kinds[node.facts.machine].append(node)
    if not kinds:
        return [], left_out
    chosen = max(kinds, key=lambda kind: (sum(node.cpus for node in kinds[kind]), kind == here, kind))
    for kind, own in kinds.items():
        if kind != chosen:
            left_out.append(
                f"{len(own)} nodes are left out, a sweep keeps to one kind of machine: they are {', '.join(kind)}, "
                f"not {', '.join(chosen)}"
            )
    return kinds[chosen], left_out


def placed_on(nodes: Sequence[Node], identity: str) -> Placed | None:
    """A build in the environment that has most CPUs among the nodes with the build; None where no node has it."""
    weights: dict[str, int] = defaultdict(int)
    found: dict[str, Placed] = {}
    for node in nodes:
        if (placed := node.environment(identity)) is not None:
            key = environment_key(placed.where.items())
            weights[key] += node.cpus
            found[key] = placed
    return found[max(weights, key=lambda key: (weights[key], key))] if found else None


def shares_of(batches: Sequence[Batch], cpus: int, limits: Limits) -> list[Share]:
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
            shares += [Share(ordered[place::count]) for place in range(count)]
    return shares


def fitting(nodes: Iterable[Node], share: Share, refused: Mapping[tuple[str, str], Collection[str]]) -> list[Node]:
    """The nodes that have not refused what a share needs, the least busy first."""
    able = [node for node in nodes if not any(node.ident in refused.get(kind, ()) for kind in share.kinds)]
    return sorted(able, key=lambda node: (node.busy / node.cpus, node.ident))
