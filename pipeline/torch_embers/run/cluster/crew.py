"""The nodes of a Ray cluster, and the flow of jobs among them.

A task comes back whole or not at all, so a node that dies loses nothing that counts, and nothing is taken twice: the
driver takes what came back before it gives the next task of that job. A node that refuses a task says what it lacks;
it gets no more of that kind, and another node gets the task.
"""

from __future__ import annotations

import time
from collections import defaultdict, deque
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import ray
from ray.exceptions import GetTimeoutError, RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from torch_embers.builds.registry import BuildError, environment_key, machine_here
from torch_embers.errors import ClusterError, SandboxError
from torch_embers.run.cluster import nodes as choosing
from torch_embers.run.cluster import worker
from torch_embers.run.cluster.jobs import fitting
from torch_embers.run.cluster.limits import limits
from torch_embers.run.cluster.worker import Done, OnBuild, Refusal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from torch_embers.builds.registry import Build, Placed
    from torch_embers.errors import EmbersError
    from torch_embers.progress import Progress
    from torch_embers.run.cluster.jobs import Job
    from torch_embers.run.cluster.nodes import Node
    from torch_embers.run.cluster.worker import Task

AnyJob = TypeVar("AnyJob", bound="Job")


class _Flight(NamedTuple):
    """A task under way."""

    job: Job
    task: Task
    node: Node
    cpus: int


class Crew:
    """The nodes of the cluster that this process is connected to.

    Args:
        progress: is told which nodes take part, and what was refused or lost.

    Attributes:
        nodes: by identity, those that take part.

    Raises:
        ClusterError: no node can be used.
    """

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._limits = limits()
        self._facts, self._prepare, self._do = map(ray.remote, (worker.facts, worker.prepare, worker.do))
        self._asked: set[str] = set()
        self.nodes: dict[str, Node] = {}
        self._kind: tuple[str, str] | None = None
        self._refused: dict[tuple[str, str], set[str]] = defaultdict(set)
        self._looked = 0.0
        self._look()
        if not self.nodes:
            raise ClusterError("no node of the cluster can be used: see above, and `ray status` on its head")
        progress.said(f"{len(self.nodes)} nodes, {self.cpus} CPUs")

    @property
    def cpus(self) -> int:
        """Of all nodes."""
        return sum(node.cpus for node in self.nodes.values())

    # ---- what the nodes have -----------------------------------------------------------------------------------

    def placed(self, build: Build) -> Placed | None:
        """A build in the environment that has most CPUs; None where no node has it."""
        return choosing.placed_on(list(self.nodes.values()), build.identity)

    def prepare(self, build: Build) -> Placed:
        """Let one node after the other try to install a build.

        Raises:
            BuildError: none can.
        """
        reasons = []
        for node in list(self.nodes.values()):
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
        for ident in [ident for ident in self.nodes if ident not in alive]:
            self._progress.said(f"node {self.nodes.pop(ident).facts.host} is gone")
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
            self.nodes[node.ident] = node

    @staticmethod
    def _on(ident: str, cpus: int) -> dict[str, Any]:
        """Options of a task that runs on this node or not at all, and is repeated by nobody but us."""
        return {
            "num_cpus": cpus,
            "max_retries": 0,
            "scheduling_strategy": NodeAffinitySchedulingStrategy(ident, soft=False),
        }

    # ---- work --------------------------------------------------------------------------------------------------

    def work(self, jobs: Iterable[AnyJob], *, lazily: bool = False) -> Iterator[tuple[AnyJob, Done]]:
        """Let the nodes do jobs, all at once; what came of each task, before its job is asked for the next one.

        Args:
            jobs: the jobs.
            lazily: take jobs as nodes are free to do them, and end with the first one that cannot be done.

        Raises:
            SandboxError, BuildError: all nodes refused some of the work; raised when all other work is done.
            ClusterError: there was no node for too long, or a task was lost too often.
        """
        source = iter(jobs)
        waiting: deque[AnyJob] = deque() if lazily else deque(source)
        flying: dict[Any, _Flight] = {}
        failed: list[Job] = []
        try:
            while not (lazily and failed):
                if lazily:
                    room = max(1, round(self._limits.tasks_per_cpu * self.cpus)) - len(waiting) - len(flying)
                    waiting.extend(islice(source, max(0, room)))
                self._give(waiting, flying, failed)
                if not waiting and not flying:
                    break
                ready, _ = ray.wait(list(flying), timeout=self._limits.look_seconds) if flying else ([], [])
                for reference in ready:
                    flight = flying.pop(reference)
                    flight.node.busy -= flight.cpus
                    job: Any = flight.job
                    if (done := self._taken(reference, flight)) is not None:
                        job.turn += 1
                        yield job, done
                    (failed if job.losses >= self._limits.losses else waiting).append(job)
                if time.monotonic() - self._looked > self._limits.look_seconds:
                    self._look()
        finally:  # whoever stops early wants no more of it
            for reference, flight in flying.items():
                flight.node.busy -= flight.cpus
                ray.cancel(reference, force=True)
        if failed:
            raise _error(failed)

    def _give(self, waiting: deque[AnyJob], flying: dict[Any, _Flight], failed: list[Job]) -> None:
        """Hand out what finds a free node; drop what is done, and give up what all nodes refuse."""
        if not self.nodes and waiting:
            self._await_node()
        for _ in range(len(waiting)):
            job = waiting.popleft()
            task = job.task()
            if task is None:
                continue
            able = fitting(self.nodes.values(), job, self._refused)
            if not able and self.nodes:
                failed.append(job)
                continue
            cpus, memory, others = job.asks(able, self._limits)
            node = next((node for node in able if node.cpus - node.busy >= cpus and node.memory >= memory), None)
            if node is None:
                waiting.append(job)
                continue
            others = dict(others)
            gpus = others.pop("GPU", 0.0)
            options = self._on(node.ident, cpus) | {"memory": memory, "num_gpus": gpus, "resources": others or None}
            node.busy += cpus
            flying[self._do.options(**options).remote(task)] = _Flight(job, task, node, cpus)

    def _taken(self, reference: Any, flight: _Flight) -> Done | None:
        """What came of a task; None where it was lost or refused, which is noted."""
        job, task, node, _ = flight
        try:
            answer = ray.get(reference)
        except RayError as error:
            job.losses += 1
            job.reasons[node.facts.host] = "lost", _first_line(error)
            self._progress.said(f"a task on {node.facts.host} was lost and is given away again: {_first_line(error)}")
            self.nodes.pop(node.ident, None)  # until it says again what it has: the list may not know yet that it died
            self._asked.discard(node.ident)
            self._look()
            return None
        if isinstance(answer, Done):
            if not isinstance(task, OnBuild) or environment_key(answer.where.items()) == task.environment:
                for line in answer.lines:
                    self._progress.said(line)
                return answer
            answer = Refusal("environment", answer.host, "its environment is another one")
        job.reasons[answer.host] = answer.what, answer.reason
        key = next(kind for kind in job.kinds if kind[0] == answer.what)
        if node.ident not in self._refused[key]:
            self._refused[key].add(node.ident)
            self._progress.said(f"node {answer.host} refuses work: {answer.reason}")
        return None

    def _await_node(self) -> None:
        """Wait for a node to join.

        Raises:
            ClusterError: none did.
        """
        deadline = time.monotonic() + self._limits.empty_seconds
        while not self.nodes:
            if time.monotonic() > deadline:
                raise ClusterError(
                    "all nodes of the cluster are gone: what was done is kept; start nodes and give the command again"
                )
            time.sleep(1.0)
            self._look()


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[-1] if lines else type(error).__name__)[:300]


def _error(failed: Sequence[Job]) -> EmbersError:
    """What to raise for work that no node did."""
    count = sum(job.size for job in failed)
    reasons = dict.fromkeys(f"{host}: {why}" for job in failed for host, (_, why) in job.reasons.items())
    text = f"{count} pieces of work were not done, all others are kept: {'; '.join(reasons)}"
    refused = {what for job in failed for what, _ in job.reasons.values()}
    kinds: dict[str, type[EmbersError]] = {"sandbox": SandboxError, "build": BuildError}
    return next((kind for what, kind in kinds.items() if what in refused), ClusterError)(text)
