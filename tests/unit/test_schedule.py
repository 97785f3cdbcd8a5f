"""Which worker makes which run: enough fresh zygotes for each batch, few in all, and every batch to its end."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from helpers.schedule import BUILDS, RULES, Machine, batch_of, make
from torch_embers.run.schedule import Course
from torch_embers.sandbox.runner import RunResult

if TYPE_CHECKING:
    from torch_embers.run.batch import Batch


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
            if RULES.by_start(batch.case):
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


def test_fresh_starts_of_many_batches_are_the_same_zygotes(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(lambda _attempt: 1, random.Random(2))
    batches = [batch_of(place, BUILDS[0], control=True, signature="SIGSEGV") for place in range(30)]
    make([batches], machine, 2, monkeypatch)
    assert machine.zygotes <= RULES.control_batch + 2
    assert all(len(batch.seen) == RULES.control_batch for batch in batches)


def test_a_run_that_waits_for_a_processor_does_not_sleep() -> None:
    course = Course(batch_of(0, BUILDS[0], control=True))
    asleep = RunResult("", 1, None, "exited", "", "", "", 8.0, 0.5, 0.5, 0, "z", "reviewed", (), {})
    for result, sleeps in (
        (asleep, True),
        (replace(asleep, waited=6.0), False),
        (replace(asleep, cpu=7.5), False),
        (replace(asleep, duration=0.2, cpu=0.0, waited=0.0), False),
    ):
        course.note(result)
        assert course.sleeps == sleeps
