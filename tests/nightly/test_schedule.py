"""Which worker makes which run: enough fresh zygotes for each batch, few in all, and every batch to its end."""

from __future__ import annotations

import random

import pytest

from helpers.schedule import BUILDS, RULES, Machine, batch_of, make


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_while_a_case_sleeps_one_more_worker_runs_and_the_number_of_runs_is_the_same(
    monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    machine = Machine(lambda _attempt: 1, random.Random(jobs), asleep=frozenset({"pt0"}))
    batches = [batch_of(place, BUILDS[0], control=True) for place in range(300)]
    make([batches], machine, jobs, monkeypatch)
    assert machine.together == jobs
    assert machine.beside > 100
    assert all(len(batch.seen) == batch.made == RULES.control_batch for batch in batches)
    for runs in machine.made.values():
        assert len({zygote for zygote, _ in runs}) == RULES.zygotes
