"""Which nodes take part, and where a build is run. Pure."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch_embers.builds.registry import environment_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch_embers.builds.registry import Placed
    from torch_embers.run.cluster.worker import Facts


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
