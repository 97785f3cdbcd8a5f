"""Runs of which one has a wrong clock: what GitHub changed is stored all the same."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from mines import REPO, mined, stored
from support import rows, snapshot
from torch_embers.mine import plan
from torch_embers.store.store import Store
from torch_embers.study import samples
from torch_embers.verdicts import shipped

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import tzinfo
    from pathlib import Path

    from servers.github import GitHub


YEARS_AGO, YEARS_AHEAD = timedelta(days=-2_000), timedelta(days=2_000)


@contextmanager
def clock(off: timedelta) -> Iterator[None]:
    """Run with a clock that is wrong by so much."""

    class Clock(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:
            return datetime.now(tz) + off

    with pytest.MonkeyPatch.context() as patch:
        for name, module in list(sys.modules.items()):
            if name.startswith("torch_embers.") and getattr(module, "datetime", None) is datetime:
                patch.setattr(module, "datetime", Clock)
        yield


def differing(database: Path, fresh: Path) -> dict[str, list[object]]:
    """Rows that only one of two databases has, by table."""
    here, there = snapshot(database), snapshot(fresh)
    return {
        t: [r for r in here[t] + there[t] if (r in here[t]) != (r in there[t])] for t in here if here[t] != there[t]
    }


@pytest.mark.parametrize("off", [YEARS_AGO, YEARS_AHEAD])
@pytest.mark.parametrize("which", ["first", "second"])
def test_a_clock_that_is_wrong_in_one_run_hides_no_change(
    server: GitHub, database: Path, tmp_path: Path, off: timedelta, which: str
) -> None:
    server.update(REPO, 3, title="First", milestone="2.0")
    with clock(off if which == "first" else timedelta()):
        mined(database, server.url)
    [gone] = rows(database, "SELECT comment_id FROM comments WHERE number = 3 LIMIT 1") or [("none",)]
    server.update(REPO, 3, title="Changed", milestone=None, comments=[], updatedAt="2027-01-01T00:00:00Z")
    with clock(off if which == "second" else timedelta()):
        mined(database, server.url)
        mined(database, server.url, 3)
    fresh = tmp_path / "fresh.duckdb"
    mined(fresh, server.url)
    assert stored(database) == stored(fresh)
    assert rows(database, "SELECT title, milestone FROM items WHERE number = 3") == [("Changed", "")]
    assert rows(database, f"SELECT * FROM comments WHERE comment_id = '{gone[0]}'") == []


@pytest.mark.parametrize("off", [2 * YEARS_AGO, YEARS_AHEAD])
def test_shipped_data_are_read_whatever_the_clock_says(database: Path, tmp_path: Path, off: timedelta) -> None:
    fresh = tmp_path / "fresh.duckdb"
    plan.mine_catalog(Store(fresh))
    with clock(off):
        plan.mine_catalog(Store(database))
        assert differing(database, fresh) == {}
        assert shipped.refresh(Store(database))
        study = samples.load()
    assert study.paper == samples.load().paper
