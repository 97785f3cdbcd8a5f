"""Shards of a plan as tasks on a Ray cluster that is there; only the driver reads and writes the database.

A shard comes back whole or not at all: a node that dies loses the shards that it was making, and they are made again
elsewhere. Who gets no work is named, with the reason. Needs the extra `cluster`: see ``packages.require``.
"""

from __future__ import annotations

import socket
import time
from collections import Counter, deque
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import ray
from pydantic import Field
from ray.exceptions import GetTimeoutError, RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from torch_embers import toml_models
from torch_embers.builds.work import Shard
from torch_embers.errors import ClusterError
from torch_embers.run import node

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch_embers.progress import Progress
    from torch_embers.run.node import NodeFacts, ShardedWork
    from torch_embers.sandbox.proof import Proof


class ClusterLimits(toml_models.Explained):
    """``[limits]``: sizes of shards, and patience."""

    shards: int = Field(gt=0)
    least_scripts: int = Field(gt=0)
    losses: int = Field(gt=0)
    answer_seconds: float = Field(gt=0)
    node_seconds: float = Field(gt=0)


class _File(toml_models.Entry):
    limits: ClusterLimits


@cache
def limits() -> ClusterLimits:
    """Read data/cluster.toml.

    Raises:
        InputError: it is missing or an entry is wrong.
    """
    return toml_models.load(_File, "cluster.toml").limits


@dataclass(frozen=True, slots=True)
class Node:
    """A node that has answered.

    Attributes:
        ident: Ray's identity of it.
        cpus: processors that Ray may give away.
        facts: what it says of itself.
    """

    ident: str
    cpus: int
    facts: NodeFacts

    def workers(self, jobs: int) -> int:
        """Shards that it makes at a time, each with so many processors."""
        return max(1, self.cpus // jobs)


@contextmanager
def connected(address: str, progress: Progress) -> Iterator[Cluster]:
    """The cluster at HOST:PORT or ``auto``, while the block runs.

    Raises:
        ClusterError: nothing answers there, or no node can be used.
    """
    try:
        _answers(address)
        ray.init(address=address, logging_level="ERROR", log_to_driver=False)
    except Exception as error:  # Ray raises a bare one where its node is slow to start
        advice = "`ray start --head` starts one, see docs/howto/cluster.md"
        raise ClusterError(f"no Ray cluster at {address} can be used: {_line(error)} ({advice})") from error
    try:
        yield Cluster(progress)
    finally:
        ray.shutdown()


def _answers(address: str) -> None:
    """Look whether anybody listens there: Ray itself tries for many minutes.

    Raises:
        OSError: nobody does.
    """
    host, colon, port = address.rpartition(":")
    if colon and port.isdecimal() and "/" not in host:
        socket.create_connection((host.strip("[]"), int(port)), limits().answer_seconds).close()


class Cluster:
    """The nodes of the cluster that this process is connected to.

    Args:
        progress: is told who gets no work, and what was lost.
    """

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self.nodes = self._asked()

    def proof(self) -> Proof:
        """Of the node with most guarantees: it says what to ask for, and lets nothing run."""
        return max((one.facts.proof for one in self.nodes), key=lambda proof: len(proof.held))

    def run(self, plan: ShardedWork, jobs: int) -> Iterator[Any]:
        """What came of each shard, as ``ShardedWork.make`` gives it, in any order.

        Args:
            plan: the work.
            jobs: processors of one shard.

        Raises:
            ClusterError: no node can be used, or a shard was lost or refused too often; what came before is whole.
        """
        nodes = self._able(plan)
        waiting = deque(_cut(plan.scripts, sum(one.workers(jobs) for one in nodes)))
        self._progress.said(f"{len(nodes)} nodes, {len(waiting)} shards")
        sent = ray.put(plan)
        flying: dict[Any, tuple[Shard, Node]] = {}
        lost = Counter[Shard]()
        try:
            while waiting or flying:
                if not nodes and not flying:
                    self.nodes = self._asked()
                    nodes = self._able(plan)
                busy = Counter(one.ident for _, one in flying.values())
                for one in nodes:
                    for _ in range(min(len(waiting), one.workers(jobs) - busy[one.ident])):
                        shard = waiting.popleft()
                        flying[_begun(sent, shard, one, jobs)] = shard, one
                [reference], _ = ray.wait(list(flying))
                shard, one = flying.pop(reference)
                answer = _answer(reference)
                if not isinstance(answer, node.Refusal):
                    yield answer
                    continue
                self._progress.said(f"{one.facts.host} did not make shard {shard}: {answer.reason}")
                nodes = [other for other in nodes if other is not one]
                lost[shard] += 1
                if lost[shard] >= limits().losses:
                    raise ClusterError(f"shard {shard} was given up ({answer.reason}); what came of others is kept")
                waiting.append(shard)
        finally:  # whoever stops early wants no more of it
            for reference in flying:
                ray.cancel(reference, force=True)

    def _asked(self) -> list[Node]:
        """The nodes that say what they have."""
        alive = {str(one["NodeID"]): int(one["Resources"].get("CPU", 0)) for one in ray.nodes() if one["Alive"]}
        asking = ray.remote(node.facts)
        coming = {ident: asking.options(**_on(ident, 0)).remote() for ident, cpus in alive.items() if cpus}
        deadline = time.monotonic() + limits().node_seconds
        answered = []
        for ident, reference in coming.items():
            try:
                told = ray.get(reference, timeout=max(0.0, deadline - time.monotonic()))
                answered.append(Node(ident, alive[ident], told))
            except (RayError, GetTimeoutError) as error:
                self._progress.said(f"node {ident[:8]} does not say what it has and is left out: {_line(error)}")
        if not answered:
            raise ClusterError("no node of the cluster can be used: see above, and `ray status` on its head")
        return answered

    def _able(self, plan: ShardedWork) -> list[Node]:
        """The nodes that may make shards of a plan; the others are named."""
        able, reasons = [], []
        for one in self.nodes:
            if (reason := one.facts.lacks(plan)) is None:
                able.append(one)
            else:
                reasons.append(f"node {one.facts.host} is left out: {reason}")
                self._progress.said(reasons[-1])
        if not able:
            raise ClusterError(f"no node of the cluster can make this: {'; '.join(dict.fromkeys(reasons))}")
        return able


def _cut(scripts: Sequence[str], workers: int) -> list[Shard]:
    """The shards of so many scripts that hold any of them."""
    count = max(1, min(limits().shards * workers, len(scripts) // limits().least_scripts))
    shards = [Shard(number, count) for number in range(1, count + 1)]
    return [shard for shard in shards if any(map(shard.has, scripts))]


def _begun(sent: Any, shard: Shard, one: Node, jobs: int) -> Any:
    return ray.remote(node.make).options(**_on(one.ident, min(jobs, one.cpus))).remote(sent, shard)


def _answer(reference: Any) -> Any:
    """What came of a task; where it was lost, that is a refusal."""
    try:
        return ray.get(reference)
    except RayError as error:
        return node.Refusal(_line(error))


def _on(ident: str, cpus: int) -> dict[str, Any]:
    """Options of a task that runs on this node or not at all, and is repeated by nobody but us."""
    return {
        "num_cpus": cpus,
        "max_retries": 0,
        "scheduling_strategy": NodeAffinitySchedulingStrategy(ident, soft=False),
    }


def _line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[-1] if lines else type(error).__name__)[:300]
