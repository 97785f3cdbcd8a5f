"""Random faults in the forms in which GitHub fails: equal, or a clear error and equal after the next mine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from conftest import needed
from schedules import Attack
from servers import stand_ins

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.servers, pytest.mark.slow, pytest.mark.long]
SEEDS = range(1, 13)
"""A few; 200 found nothing on 2026-11-24 (bench/RESULTS.md)."""
KILLED = (1, 5)
"""One schedule by GraphQL and one by REST whose mines are killed."""


@pytest.mark.timeout(600)
def test_no_schedule_of_faults_ends_in_silent_loss(tmp_path: Path) -> None:
    needed(stand_ins.node_ready())
    with Attack(tmp_path) as attack:
        for seed in SEEDS:
            attack.run(seed)
        for seed in KILLED:
            attack.run_with_kills(seed)
    result = attack.result
    assert result.silent == []
    assert result.unequal == []
    assert result.schedules == len(SEEDS) + len(KILLED)
    assert sum(result.met.values()) > 0
    assert result.told > 0
