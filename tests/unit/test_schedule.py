"""Which worker makes which run: enough fresh zygotes for each batch, few in all, and every batch to its end."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from helpers.verdicts import build_of
from support import case_of
from torch_embers.sandbox.runner import RunResult
from torch_embers.statistics.absence import AbsenceRules
from torch_embers.verdicts import schedule
from torch_embers.verdicts.batch import Batch
from torch_embers.verdicts.schedule import Course, Schedule
from torch_embers.verdicts.verdict import Control

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from torch_embers.builds.registry import Build
    from torch_embers.sandbox.runner import Attempt

RULES = AbsenceRules.load()
BUILDS = [build_of("2.0.1"), build_of("2.1.2")]


@dataclass(eq=False)
class FakeWorker:
    """Stands for a worker: counts the zygotes that it starts."""

    runner: Any
    starts: int = 0
    warm: bool = False
    attempt: Attempt | None = None

    def close(self) -> None:
        self.warm = False


def result_of(code: int, seconds: float, cpu: float = 0.01, waited: float = 0.0, zygote: str = "z") -> RunResult:
    return RunResult("", code, None, "exited", "", "0 of 5\n", "", seconds, cpu, waited, 0, zygote, "reviewed", (), {})


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
            made = result_of(code, 0.01 if worker in awake else 60.0, zygote=str(own[worker]))
            yield worker, made


def batch_of(place: int, build: Build, *, control: bool, **meta: object) -> Batch:
    made = Batch(case_of(name=f"pt{place}_example", **meta), build, "env", 0)
    if control:
        made.plan_control(RULES)
    else:
        made.plan(Control("build", "b", 10, 10), RULES)
    return made


def make(batches: Sequence[Sequence[Batch]], machine: Machine, jobs: int, patch: pytest.MonkeyPatch) -> int:
    """Let a schedule make the runs; how many it handed out."""
    patch.setattr(schedule, "Worker", FakeWorker)
    patch.setattr(schedule, "drive", machine.drive)
    shares: Any = [(f"runner {place}", own) for place, own in enumerate(batches)]
    made = list(Schedule(shares, RULES, jobs, lambda _line: None).run())
    assert all(one.number >= 0 for _, one in made)
    return len(made)


@given(
    kinds=st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 1)), min_size=1, max_size=12),
    jobs=st.integers(1, 4),
    seed=st.integers(0, 1 << 16),
    rate=st.sampled_from([0.0, 0.3, 1.0]),
)
@example(kinds=[(True, False, 0), (False, True, 0), (False, False, 0), (False, True, 0)], jobs=2, seed=2, rate=0.0)
def test_every_batch_comes_to_its_end_over_enough_fresh_zygotes(
    kinds: list[tuple[bool, bool, int]], jobs: int, seed: int, rate: float
) -> None:
    luck = random.Random(seed)
    batches: list[list[Batch]] = [[], []]
    for place, (control, by_start, build) in enumerate(kinds):
        signature = "SIGSEGV" if by_start else "mismatch"
        batches[build].append(batch_of(place, BUILDS[build], control=control, signature=signature))
    used = [own for own in batches if own]
    machine = Machine(lambda _attempt: int(luck.random() < rate), luck)
    with pytest.MonkeyPatch.context() as patch:
        count = make(used, machine, jobs, patch)
    assert count == sum(len(runs) for runs in machine.made.values())
    for place, own in enumerate(used):
        for batch in own:
            runs = machine.made[f"{batch.case.name}.py runner {place}"]
            zygotes = [zygote for zygote, _ in runs]
            assert batch.is_settled(RULES)
            assert batch.made == len(runs)
            assert len({seed for _, seed in runs}) == len(runs)
            assert zygotes == sorted(zygotes, key=zygotes.index), "a batch comes back to an earlier zygote"
            if RULES.by_start(batch.case.signature):
                assert len(set(zygotes)) == len(batch.seen), "a start is one zygote"
            elif len(runs) >= RULES.zygotes:
                assert len(set(zygotes)) == RULES.zygotes
    # a zygote serves all batches of its build: no more are started than turns and workers ask for
    turns = sum(max(batch.turns(RULES) for batch in own) for own in used)
    assert machine.zygotes <= turns + jobs * len(used) * RULES.zygotes


def test_many_batches_share_three_zygotes_whatever_the_number_of_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(lambda _attempt: 1, random.Random(1))
    make([[batch_of(place, BUILDS[0], control=True) for place in range(100)]], machine, 3, monkeypatch)
    assert machine.zygotes <= RULES.zygotes + 1
    assert sum(map(len, machine.made.values())) == 1000
    machine = Machine(lambda _attempt: 1, random.Random(2))
    batches = [batch_of(place, BUILDS[0], control=True, signature="SIGSEGV") for place in range(30)]
    make([batches], machine, 2, monkeypatch)
    assert machine.zygotes <= RULES.control_batch + 2, "fresh starts of many batches are the same zygotes"
    assert all(len(batch.seen) == RULES.control_batch for batch in batches)


def test_a_run_that_waits_for_a_processor_does_not_sleep() -> None:
    course = Course(batch_of(0, BUILDS[0], control=True))
    asleep = result_of(1, 8.0, cpu=0.5, waited=0.5)
    for result, sleeps in (
        (asleep, True),
        (replace(asleep, waited=6.0), False),
        (replace(asleep, cpu=7.5), False),
        (replace(asleep, duration=0.2, cpu=0.0, waited=0.0), False),
    ):
        course.note(result)
        assert course.sleeps == sleeps


def test_while_a_case_sleeps_one_more_worker_runs_and_no_run_more(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(lambda _attempt: 1, random.Random(2), asleep=frozenset({"pt0"}))
    batches = [batch_of(place, BUILDS[0], control=True) for place in range(60)]
    make([batches], machine, 2, monkeypatch)
    assert machine.together == 2
    assert machine.beside > 20
    assert all(len(batch.seen) == batch.made == RULES.control_batch for batch in batches)
    for runs in machine.made.values():
        assert len({zygote for zygote, _ in runs}) == RULES.zygotes
