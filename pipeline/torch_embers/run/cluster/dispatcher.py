"""Gives work to the nodes of a Ray cluster. The driver alone knows the database.

A task is one turn of some batches. It comes back whole or not at all, so a node that dies loses nothing that counts,
and nothing is taken twice: the driver adds the runs to its own batches, as they are when the task comes back. A node
that refuses a task says what it lacks; it gets no more of that kind, and another node gets the task.
"""

from __future__ import annotations

import time
from collections import defaultdict, deque
from typing import TYPE_CHECKING, Any

import ray
from ray.exceptions import GetTimeoutError, RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from torch_embers.builds.registry import BuildError, environment_key, machine_here
from torch_embers.errors import ClusterError, SandboxError
from torch_embers.run.cluster import nodes as choosing
from torch_embers.run.cluster import worker
from torch_embers.run.cluster.limits import limits
from torch_embers.run.cluster.worker import Done, Refusal, Task
from torch_embers.run.dispatch import most_turns
from torch_embers.run.turns import take

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch_embers.builds.registry import Build, Placed
    from torch_embers.errors import EmbersError
    from torch_embers.progress import Progress
    from torch_embers.run.batch import Batch
    from torch_embers.run.cluster.nodes import Node, Share
    from torch_embers.run.turns import Made
    from torch_embers.run.verdict import Rules
    from torch_embers.sandbox.proof import Proof


class RayDispatcher:
    """Makes runs on the nodes of the cluster that this process is connected to.

    Args:
        progress: is told which nodes take part, and what was refused or lost.
        unsandboxed: let reviewed cases run with the node's rights where it has no sandbox.

    Raises:
        ClusterError: no node can be used.
    """

    side_by_side = True

    def __init__(self, progress: Progress, *, unsandboxed: bool = False) -> None:
        self._progress = progress
        self._unsandboxed = unsandboxed
        self._limits = limits()
        self._facts, self._prepare, self._make = map(ray.remote, (worker.facts, worker.prepare, worker.make))
        self._asked: set[str] = set()
        self._nodes: dict[str, Node] = {}
        self._kind: tuple[str, str] | None = None
        self._refused: dict[tuple[str, str], set[str]] = defaultdict(set)
        self._looked = 0.0
        self._look()
        if not self._nodes:
            raise ClusterError("no node of the cluster can be used: see above, and `ray status` on its head")
        cpus = sum(node.cpus for node in self._nodes.values())
        progress.said(f"{len(self._nodes)} nodes, {cpus} CPUs")

    # ---- what the nodes have -----------------------------------------------------------------------------------

    def proof(self) -> Proof:
        """Of the node with most guarantees: what it says, to know what to ask for. Each node proves its own."""
        return max((node.facts.proof for node in self._nodes.values()), key=lambda proof: len(proof.held))

    def memory(self) -> int:
        """Bytes of memory of the largest node."""
        return max(node.facts.memory for node in self._nodes.values())

    def survey(self, builds: Sequence[Build]) -> list[Placed]:
        """The builds that a node has."""
        found = (choosing.placed_on(list(self._nodes.values()), build.identity) for build in builds)
        return [placed for placed in found if placed is not None]

    def prepare(self, build: Build) -> Placed:
        """Let one node after the other try to install a build.

        Raises:
            BuildError: none can.
        """
        reasons = []
        for node in list(self._nodes.values()):
            self._progress.said(f"{build.name} is installed on {node.facts.host}")
            try:
                answer: Placed | Refusal = ray.get(self._prepare.options(**self._on(node.ident, cpus=1)).remote(build))
            except RayError as error:
                reasons.append(f"{node.facts.host}: {_first_line(error)}")
                continue
            if not isinstance(answer, Refusal):
                return answer
            reasons.append(f"{answer.host}: {answer.reason}")
        raise BuildError(f"no node has {build.name} or can install it: {'; '.join(dict.fromkeys(reasons))}")

    def _look(self) -> None:
        """Read the list of nodes; ask new ones what they have, forget those that are gone."""
        self._looked = time.monotonic()
        alive = {str(node["NodeID"]): node["Resources"] for node in ray.nodes() if node["Alive"]}
        for ident in [ident for ident in self._nodes if ident not in alive]:
            self._progress.said(f"node {self._nodes.pop(ident).facts.host} is gone")
        new = {ident: self._facts.options(**self._on(ident, cpus=0)).remote() for ident in alive.keys() - self._asked}
        self._asked |= new.keys()
        answered = []
        deadline = time.monotonic() + self._limits.node_seconds
        for ident, reference in new.items():
            try:
                told = ray.get(reference, timeout=max(0.0, deadline - time.monotonic()))
                answered.append(choosing.Node(ident, alive[ident], told))
            except (RayError, GetTimeoutError) as error:
                self._progress.said(f"node {ident[:8]} does not say what it has and is left out: {_first_line(error)}")
        if answered:
            self._admit(answered)

    def _admit(self, answered: list[Node]) -> None:
        if self._kind is not None:
            answered = [node for node in answered if node.facts.machine == self._kind]
        chosen, left_out = choosing.same_kind(answered, machine_here(), worker.code_here())
        for line in left_out:
            self._progress.said(line)
        for node in chosen:
            self._kind = node.facts.machine
            self._nodes[node.ident] = node

    @staticmethod
    def _on(ident: str, cpus: int) -> dict[str, Any]:
        """Options of a task that runs on this node or not at all, and is repeated by nobody but us."""
        return {
            "num_cpus": cpus,
            "max_retries": 0,
            "scheduling_strategy": NodeAffinitySchedulingStrategy(ident, soft=False),
        }

    # ---- runs --------------------------------------------------------------------------------------------------

    def run(self, batches: Sequence[Batch], rules: Rules, jobs: int) -> Iterator[tuple[Batch, Made]]:
        """Make the runs that these batches lack, on all nodes at once.

        ``jobs`` is not used: a task makes one run at a time, and there are as many tasks as the nodes have CPUs.

        Raises:
            SandboxError, BuildError: all nodes refused some of the work; raised when all other work is done.
            ClusterError: there was no node for too long, or a task was lost too often.
        """
        del jobs
        cpus = sum(node.cpus for node in self._nodes.values())
        waiting = deque(choosing.shares_of(batches, cpus, self._limits))
        flying: dict[Any, tuple[Share, list[Batch], Node, int]] = {}
        failed: list[Share] = []
        try:
            while waiting or flying:
                self._give(waiting, flying, failed, rules)
                ready, _ = ray.wait(list(flying), timeout=self._limits.look_seconds) if flying else ([], [])
                for reference in ready:
                    share, members, node, held = flying.pop(reference)
                    node.busy -= held
                    yield from self._taken(reference, share, members, node, rules)
                    (failed if share.losses >= self._limits.losses else waiting).append(share)
                if time.monotonic() - self._looked > self._limits.look_seconds:
                    self._look()
        finally:  # whoever stops early wants no more of it
            for reference, (_, _, node, held) in flying.items():
                node.busy -= held
                ray.cancel(reference, force=True)
        if failed:
            raise _error(failed)

    def _give(
        self,
        waiting: deque[Share],
        flying: dict[Any, tuple[Share, list[Batch], Node, int]],
        failed: list[Share],
        rules: Rules,
    ) -> None:
        """Hand out what finds a free node; drop what is settled, and give up what all nodes refuse."""
        if not self._nodes and waiting:
            self._await_node()
        for _ in range(len(waiting)):
            share = waiting.popleft()
            members = [batch for batch in share.batches if not batch.is_settled(rules)]
            if not members or share.turn >= most_turns(share.batches, rules):
                continue
            able = choosing.fitting(self._nodes.values(), share, self._refused)
            if not able and self._nodes:
                failed.append(share)
                continue
            cpus, memory, others = share.asks(able, self._limits)
            node = next((node for node in able if node.cpus - node.busy >= cpus and node.memory >= memory), None)
            if node is None:
                waiting.append(share)
                continue
            gpus = others.pop("GPU", 0.0)
            options = self._on(node.ident, cpus) | {"memory": memory, "num_gpus": gpus, "resources": others or None}
            first = members[0]
            task = Task(
                worker.code_here(),
                first.build,
                first.environment,
                tuple(members),
                share.turn,
                rules,
                self._unsandboxed,
            )
            node.busy += cpus
            flying[self._make.options(**options).remote(task)] = share, members, node, cpus

    def _taken(
        self, reference: Any, share: Share, members: list[Batch], node: Node, rules: Rules
    ) -> Iterator[tuple[Batch, Made]]:
        """Take what came of a task into the driver's own batches."""
        try:
            answer = ray.get(reference)
        except RayError as error:
            share.losses += 1
            share.reasons[node.facts.host] = "lost", _first_line(error)
            self._progress.said(f"a task on {node.facts.host} was lost and is given away again: {_first_line(error)}")
            self._nodes.pop(node.ident, None)  # until it says again what it has: the list may not know yet that it died
            self._asked.discard(node.ident)
            self._look()
            return
        if isinstance(answer, Done) and environment_key(answer.where.items()) != members[0].environment:
            answer = Refusal("environment", answer.host, "its environment is another one")
        if isinstance(answer, Refusal):
            share.reasons[answer.host] = answer.what, answer.reason
            key = next(kind for kind in share.kinds if kind[0] == answer.what)
            if node.ident not in self._refused[key]:
                self._refused[key].add(node.ident)
                self._progress.said(f"node {answer.host} refuses work: {answer.reason}")
            return
        for line in answer.lines:
            self._progress.said(line)
        share.turn += 1
        for batch in members:
            batch.begin_turn()
        for place, made in answer.made:
            batch = members[place]
            yield batch, take(batch, made.attempt, made.result, made.observation, rules)

    def _await_node(self) -> None:
        """Wait for a node to join.

        Raises:
            ClusterError: none did.
        """
        deadline = time.monotonic() + self._limits.empty_seconds
        while not self._nodes:
            if time.monotonic() > deadline:
                raise ClusterError(
                    "all nodes of the cluster are gone: what was done is kept; start nodes and give the command again"
                )
            time.sleep(1.0)
            self._look()


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[-1] if lines else type(error).__name__)[:300]


def _error(failed: Sequence[Share]) -> EmbersError:
    """What to raise for work that no node did."""
    count = sum(len(share.batches) for share in failed)
    reasons = dict.fromkeys(f"{host}: {why}" for share in failed for host, (_, why) in share.reasons.items())
    text = f"{count} batches of runs were not made, all others are kept: {'; '.join(reasons)}"
    refused = {what for share in failed for what, _ in share.reasons.values()}
    kinds: dict[str, type[EmbersError]] = {"sandbox": SandboxError, "build": BuildError}
    return next((kind for what, kind in kinds.items() if what in refused), ClusterError)(text)
