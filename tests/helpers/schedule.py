"""What the tests in test_schedule.py share."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from support import case_of
from torch_embers.builds.registry import Build
from torch_embers.run import schedule
from torch_embers.run.batch import Batch
from torch_embers.run.schedule import Schedule
from torch_embers.run.verdict import Control, Rules
from torch_embers.sandbox.runner import RunResult

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator, Sequence

    import pytest

    from torch_embers.sandbox.runner import Attempt

RULES = Rules.load()
BUILDS = [Build(v, f"{v}+cpu", "abc", "release", "linux-x86_64", Path("python"), "3.11.7") for v in ("2.0.1", "2.1.2")]
SURE = Control("build", "b", 10, 10)


@dataclass(eq=False)
class FakeWorker:
    """Stands for a worker: counts the zygotes that it starts."""

    runner: Any
    starts: int = 0
    warm: bool = False
    attempt: Attempt | None = None

    def close(self) -> None:
        self.warm = False


@dataclass
class Machine:
    """Answers attempts in any order, and notes which zygote made which run."""

    answer: Callable[[Attempt], int]
    luck: random.Random
    made: dict[str, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    """Code of the case and runner -> the zygote and the seed of each run."""
    zygotes: int = 0
    asleep: frozenset[str] = frozenset()
    """Cases whose runs sleep for a minute."""
    together: int = 0
    """Most runs at a time, those that sleep not counted."""
    beside: int = 0
    """Runs that ended while one slept."""

    def drive(
        self, workers: Sequence[FakeWorker], feed: Callable[[FakeWorker], Attempt | None], _stop: object = None
    ) -> Iterator[tuple[FakeWorker, RunResult]]:
        own: dict[FakeWorker, int] = {}
        while True:
            for worker in workers:
                if worker.attempt is None:
                    worker.attempt = feed(worker)
                    if worker.attempt is not None and not worker.warm:
                        self.zygotes += 1
                        worker.warm, own[worker] = True, self.zygotes
            busy = [worker for worker in workers if worker.attempt is not None]
            if not busy:
                return
            names = {worker: worker.attempt.name for worker in busy if worker.attempt is not None}
            awake = [worker for worker in busy if names[worker].partition("_")[0] not in self.asleep]
            worker = self.luck.choice(awake if awake and self.luck.random() < 0.99 else busy)
            if any(self.made[f"{name} {one.runner}"] for one, name in names.items() if one not in awake):
                self.together = max(self.together, len(awake))
                self.beside += worker in awake
            attempt = worker.attempt
            assert attempt is not None
            self.made[f"{attempt.name} {worker.runner}"].append((own[worker], attempt.seed))
            code = self.answer(attempt)
            worker.attempt = None
            words, seconds = "0 of 5\n", 0.01 if worker in awake else 60.0
            yield (
                worker,
                RunResult(
                    "", code, None, "exited", "", words, "", seconds, 0.01, 0.0, 0, str(own[worker]), "reviewed", (), {}
                ),
            )


def batch_of(place: int, build: Build, *, control: bool, **meta: object) -> Batch:
    made = Batch(case_of(name=f"pt{place}_example", **meta), build, "env", 0)
    if control:
        made.plan_control(RULES)
    else:
        made.plan(SURE, RULES)
    return made


def make(batches: Sequence[Sequence[Batch]], machine: Machine, jobs: int, patch: pytest.MonkeyPatch) -> int:
    """Let a schedule make the runs; how many it handed out."""
    patch.setattr(schedule, "Worker", FakeWorker)
    patch.setattr(schedule, "drive", machine.drive)
    shares: Any = [(f"runner {place}", own) for place, own in enumerate(batches)]
    made = list(Schedule(shares, RULES, jobs, lambda _line: None).run())
    assert all(one.number >= 0 for _, one in made)
    return len(made)
