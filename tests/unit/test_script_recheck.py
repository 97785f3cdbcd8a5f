"""A re-check of reports without a case: their scripts run on one more build, and a flip there is announced once."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from helpers.timeline_rows import REPO, add_timeline, crashed, ended, observe, put
from helpers.verdicts import build_of
from support import case_of, rows
from torch_embers.cases import bank
from torch_embers.extract.script import Script
from torch_embers.progress import Silent
from torch_embers.recheck import notices, reports
from torch_embers.recheck.recheck import Recheck, RecheckRequest, mark_told, recheck
from torch_embers.store.store import Store
from torch_embers.verdicts import executor, script_status

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from torch_embers.timeline.model import Segment

REFERENCE = build_of("2.7.1")
WHERE = {"device": "cpu", "system": "Linux", "processor": "EPYC", "capability": "AVX2", "threads": 2}
WHERE |= {"device_name": None, "driver": None}
OLD = crashed("2.5.1", "2.6.0")
STATUSES = "SELECT number, status FROM statuses ORDER BY ALL"


@pytest.fixture
def again(database: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Recheck]:
    """A re-check in which runs and comparisons give these segments, by number."""

    def check(segments: dict[int, Sequence[Segment]], *, told: bool = True, only: str = "all") -> Recheck:
        def complete(runs: Any, items: Sequence[tuple[str, int]]) -> int:
            with runs._writer.transaction() as connection:
                for _, number in items:
                    connection.execute("DELETE FROM timelines WHERE number = ?", [number])
                    add_timeline(connection, REPO, number, segments[number], Script(scripts[number]))
            return 0

        scripts = dict(rows(database, "SELECT number, code FROM scripts"))
        monkeypatch.setattr(script_status.Runs, "complete", complete)
        monkeypatch.setattr(script_status.Runs, "make", lambda _self, todo: len(todo))
        monkeypatch.setattr(executor, "environment_of", lambda *_: WHERE)
        store, machine = Store(database), None
        with store.writer("test") as writer:
            request = RecheckRequest(only, REFERENCE, [REFERENCE], [REFERENCE], 7.0)
            found = recheck(store, writer, machine, [], request, Silent())  # type: ignore[arg-type]
            if told:
                mark_told(writer)
        return found

    return check


def ran(database: Path, number: int, **more: Any) -> str:
    """An issue whose script ran on an older build."""
    script = put(database, number, [OLD], **more)
    observe(database, script, "2.6.0")
    return script


def kinds(found: Recheck) -> list[tuple[int, str | None]]:
    return [(change.number, change.kind) for change in found.news]


def test_a_flip_on_the_newest_build_is_announced_once(
    database: Path, again: Callable[..., Recheck], tmp_path: Path
) -> None:
    ran(database, 5)
    flipped = [OLD, replace(crashed("2.7.1", match="other", flip="class"), what="SIGABRT", confirmed=True)]
    found = again({5: flipped}, told=False)
    assert kinds(found) == [(5, "flip")]
    [change] = found.news
    assert "SIGABRT" in change.evidence[0]
    assert rows(database, STATUSES) == [], "a flip decides no status"
    reports.save(tmp_path, found, [])
    assert "## The report's script behaves otherwise (1)" in (tmp_path / "recheck.md").read_text()
    assert [one.get("classname") for one in ET.parse(tmp_path / "recheck.xml").iter("testcase")] == [f"{REPO}#5"]
    assert reports.as_table(found)["changes"][0]["kind"] == "flip"
    assert b"flip: pytorch/pytorch#5" in notices.feed(notices.announced(Store(database), 10))
    assert kinds(again({5: flipped})) == [(5, "flip")], "nobody was told yet"
    assert kinds(again({5: flipped})) == []


@pytest.mark.parametrize(
    "segments",
    [
        [replace(OLD, versions=("2.5.1", "2.6.0", "2.7.1"))],
        [OLD, replace(crashed("2.7.1"), flip="wording")],
        [crashed("2.5.1"), replace(ended("2.6.0", "2.7.1", match="other"))],
        [OLD, ended("2.7.1", match="other", confirmed=False)],
    ],
    ids=["no flip", "wording", "an older build", "not enough runs"],
)
def test_what_is_no_news_of_this_build_is_not_announced(
    database: Path, again: Callable[..., Recheck], segments: list[Segment]
) -> None:
    ran(database, 5, state="closed")
    assert kinds(again({5: segments})) == []


def test_what_a_script_shows_of_a_closed_or_open_issue_is_its_status(
    database: Path, again: Callable[..., Recheck]
) -> None:
    ran(database, 5, state="closed", disposition="fixed")
    observe(database, ran(database, 6, code="x = 6", state="closed", disposition="fixed"), "2.7.1", batch=2)
    ran(database, 7, code="x = 7")
    ran(database, 8, code="x = 8", state="closed", disposition="declined")
    everywhere = [replace(OLD, versions=("2.5.1", "2.6.0", "2.7.1"))]
    found = again({5: everywhere, 6: everywhere, 7: [OLD, ended("2.7.1")], 8: everywhere})
    assert kinds(found) == [(6, "closed_but_occurs"), (7, "open_but_absent")], "5 has no second batch"
    assert rows(database, STATUSES) == [(6, "closed_but_occurs"), (7, "open_but_absent")]
    assert found.counts == {"closed_but_occurs": 1, "open_but_absent": 1}
    assert kinds(again({5: everywhere, 6: everywhere, 7: [OLD, ended("2.7.1")], 8: everywhere})) == []


def test_a_status_that_a_script_no_longer_carries_is_taken_back(database: Path, again: Callable[..., Recheck]) -> None:
    ran(database, 7)
    again({7: [OLD, ended("2.7.1")]})
    again({7: [OLD, ended("2.7.1", match=None)]})
    assert rows(database, STATUSES) == [(7, "undecided")]


def test_where_a_case_speaks_no_script_does(database: Path, again: Callable[..., Recheck]) -> None:
    ran(database, 5, state="closed", disposition="fixed")
    with Store(database).writer("test") as writer, writer.transaction() as connection:
        bank.save(connection, [case_of(issues=[f"{REPO}#5"], relation="same")])
    assert kinds(again({5: [OLD, ended("2.7.1")]})) == []
    assert rows(database, "SELECT versions[-1] FROM timelines") == [("2.6.0",)], "it was not run"


def test_items_in_another_state_are_not_run(database: Path, again: Callable[..., Recheck]) -> None:
    ran(database, 5)
    assert kinds(again({5: [OLD, ended("2.7.1")]}, only="closed")) == []
