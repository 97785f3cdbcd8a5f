"""Runs of which one has a wrong clock: what GitHub changed is stored all the same."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from torch_embers.mine.github.numbers import NumbersSource

from servers.github import GitHub, filled
from support import rest, rows, snapshot
from torch_embers.mine import runner
from torch_embers.run import shipped
from torch_embers.store.store import Store
from torch_embers.study import samples

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import tzinfo
    from pathlib import Path

REPO = "alice/bugs"
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
    tracker: GitHub, database: Path, tmp_path: Path, off: timedelta, which: str
) -> None:
    repository = filled(tracker, 12, pulls=6)
    repository.touch(3, milestone={"title": "2.0"}, user={"login": "zoe"}, state="closed", closed_by={"login": "cid"})
    changed, gone, _ = (repository.comment(number) for number in (3, 3, 5))
    with clock(off if which == "first" else timedelta()):
        runner.mine(Store(database), rest(tracker.url, REPO, "t"))
    repository.touch(3, title="Changed", milestone=None, user=None, closed_by=None)
    repository.label(4, "module: mps")
    changed |= {"body": "Changed", "updated_at": repository.touch(3)["updated_at"]}
    repository.comment(5)
    repository.comments.remove(gone)
    repository.items[3]["comments"] -= 1
    with clock(off if which == "second" else timedelta()):
        runner.mine(Store(database), rest(tracker.url, REPO, "t"))
        numbers = NumbersSource(rest(tracker.url, REPO, "t"), [3], frozenset({3}), timedelta(0))
        runner.mine(Store(database), numbers)
    fresh = tmp_path / "fresh.duckdb"
    runner.mine(Store(fresh), rest(tracker.url, REPO, "t"))
    assert differing(database, fresh) == {}
    shown = "SELECT title, milestone, author, coalesce(closed_by, '') FROM items WHERE number = 3"
    assert rows(database, shown) == [("Changed", "", "", "")]
    assert rows(database, f"SELECT * FROM comments WHERE comment_id = '{gone['id']}'") == []
    runner.replay(Store(database))
    assert differing(database, fresh) == {}


@pytest.mark.parametrize("off", [2 * YEARS_AGO, YEARS_AHEAD])
def test_shipped_data_are_read_whatever_the_clock_says(database: Path, tmp_path: Path, off: timedelta) -> None:
    fresh = tmp_path / "fresh.duckdb"
    runner.mine_catalog(Store(fresh), "pytorch/pytorch")
    with clock(off):
        runner.mine_catalog(Store(database), "pytorch/pytorch")
        assert differing(database, fresh) == {}
        assert shipped.refresh(Store(database))
        plan = samples.load()
    assert plan.paper == samples.load().paper
