"""Random faults in the forms in which GitHub fails: equal, or a clear error and equal after the next mine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from schedules import SCHEDULES, Attack

if TYPE_CHECKING:
    from pathlib import Path

BLOCK = 25
"""Schedules of one test: what mines without faults store is found out once for each."""


@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("first", range(1, SCHEDULES + 1, BLOCK))
def test_no_schedule_of_faults_ends_in_silent_loss(tmp_path: Path, first: int) -> None:
    with Attack(tmp_path) as attack:
        for seed in range(first, min(first + BLOCK, SCHEDULES + 1)):
            attack.run(seed)
    assert (attack.result.silent, attack.result.unequal) == ([], [])
    assert sum(attack.result.met.values()) > 0


@pytest.mark.timeout(1_800)
def test_no_schedule_whose_mines_are_killed_loses_anything(tmp_path: Path) -> None:
    with Attack(tmp_path) as attack:
        for seed in range(1, 1 + max(1, SCHEDULES // 20)):
            attack.run_with_kills(seed)
    assert attack.result.unequal == []
    assert attack.result.kills > 0
