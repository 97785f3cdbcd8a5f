"""Everything that belongs to an item beyond its text arrives as the tracker has it, by each way of asking."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from support import graphql, rows, snapshot
from torch_embers.mine import runner
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from pathlib import Path

    from servers import stand_ins

pytestmark = pytest.mark.servers
REPO = "pytorch/pytorch"


@pytest.fixture(scope="module")
def mined(graphql_server: stand_ins.GraphQLStandIn, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with everything of the stand-in."""
    graphql_server.restore()
    path = tmp_path_factory.mktemp("fields") / "e.duckdb"
    runner.mine(Store(path), graphql(graphql_server.url, REPO))
    return path


@pytest.fixture(scope="module")
def wanted(graphql_server: stand_ins.GraphQLStandIn) -> dict[int, Any]:
    """Items of the stand-in by number."""
    found = next(r for r in graphql_server.dataset["repos"] if r["nameWithOwner"] == REPO)["items"]
    return {item["number"]: item for item in found}


def lower(value: str | None) -> str | None:
    return value.lower() if value else None


def test_milestone_lock_head_and_checks_of_every_item(mined: Path, wanted: dict[int, Any]) -> None:
    query = (
        "SELECT number, milestone, milestone_number, strftime(milestone_due_at, '%Y-%m-%dT%H:%M:%SZ'), locked, lock_reason, "
        "merged_by, head_sha, check_state FROM items"
    )
    got = {number: values for number, *values in rows(mined, query)}
    assert set(got) == set(wanted)
    for number, item in wanted.items():
        facts = item["milestoneFacts"] if item["milestone"] else {"number": None, "dueOn": None}
        pull = item["kind"] == "pull"
        assert got[number] == [
            item["milestone"] or "",
            facts["number"],
            facts["dueOn"],
            item["locked"],
            lower(item["lockReason"]),
            item["mergedBy"],
            item["headSha"] if pull else None,
            (lower(item["checks"]["state"]) if item["checks"] else "") if pull else None,
        ], number
    assert any(values[5] for values in got.values())
    assert any(values[2] for values in got.values())


def test_every_closed_item_says_who_closed_it_when_and_why(mined: Path, wanted: dict[int, Any]) -> None:
    query = (
        "SELECT number, strftime(closed_at, '%Y-%m-%dT%H:%M:%SZ'), closed_by, reason, closing_repo, closing_number, closing_sha, "
        "closing_comment FROM closings"
    )
    got = {number: values for number, *values in rows(mined, query)}
    assert set(got) == {number for number, item in wanted.items() if item["state"] != "OPEN"}
    for number, values in got.items():
        item = wanted[number]
        end = [event for event in item["events"] if event["type"] == "ClosedEvent"][-1]
        closer = end["closer"] or {}
        reason = "merged" if item["state"] == "MERGED" else lower(item["stateReason"])
        sha = closer.get("commit") or item["mergeSha"]
        assert values[:6] == [
            end["createdAt"],
            end["actor"],
            reason,
            closer.get("repo"),
            closer.get("number"),
            sha,
        ], number
    said = {number: values[6] for number, values in got.items() if values[6] is not None}
    assert said == {n: wanted[n]["comments"][-1]["body"] for n in got if wanted[n]["comments"] and n % 6 == 1}
    assert said


def test_an_app_has_the_same_login_by_graphql_as_by_rest(mined: Path, wanted: dict[int, Any]) -> None:
    got = dict(rows(mined, "SELECT author, count(*) FROM comments WHERE author LIKE '%bot%' GROUP BY author"))
    bots = sum(comment["author"] == "pytorch-bot[bot]" for item in wanted.values() for comment in item["comments"])
    assert got == {"pytorch-bot[bot]": bots}


def test_replay_gives_equal_rows(mined: Path) -> None:
    before = snapshot(mined)
    runner.replay(Store(mined))
    assert snapshot(mined) == before
