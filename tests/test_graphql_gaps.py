"""GraphQL answers with HTTP 200 and gaps: nothing that is missing is taken for an end, and what lacks is read again."""

from __future__ import annotations

import base64
import contextlib
import json
from typing import TYPE_CHECKING, Any

import pytest

from conftest import needed
from servers import stand_ins
from support import assert_clean_error, client, graphql, rows, run_embers, snapshot
from torch_embers.errors import EmbersError
from torch_embers.mine import runner
from torch_embers.mine.github import graphql as graphql_source
from torch_embers.mine.github.graphql import GraphqlSource
from torch_embers.mine.github.numbers import NumbersSource
from torch_embers.mine.github.replies import Patience
from torch_embers.mine.scope import Scope
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.servers, pytest.mark.slow]
REPO = "pytorch/pytorch"
HASTY = Patience(retries=2, max_wait=20, timeout=5, pause=0, backoff=0.01, secondary_wait=0.1)
ALWAYS = 10_000


@pytest.fixture(scope="module")
def small() -> Iterator[stand_ins.GraphQLStandIn]:
    needed(stand_ins.node_ready())
    with stand_ins.GraphQLStandIn(stand_ins.synthetic_dataset(48)) as started:
        yield started


@pytest.fixture
def server(small: stand_ins.GraphQLStandIn) -> Iterator[stand_ins.GraphQLStandIn]:
    small.restore()
    yield small
    small.restore()


@pytest.fixture(scope="module")
def whole(
    small: stand_ins.GraphQLStandIn, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, list[tuple[Any, ...]]]:
    small.restore()
    path = tmp_path_factory.mktemp("whole") / "e.duckdb"
    runner.mine(Store(path), graphql(small.url, REPO))
    return snapshot(path)


def source(server: stand_ins.GraphQLStandIn) -> GraphqlSource:
    return GraphqlSource(client(server.url, "token-one", patience=HASTY), Scope(REPO), issue_page=20, pull_page=6)


def longest(server: stand_ins.GraphQLStandIn, kind: str, part: str) -> int:
    """Number of the item with most rows of a part."""
    items = next(r for r in server.dataset["repos"] if r["nameWithOwner"] == REPO)["items"]
    found: list[Any] = [i for i in items if i["kind"] == kind]
    return int(max(found, key=lambda i: len(i[part]))["number"])


SOMETHING = "Something went wrong while executing your query on 2026-01-01. Please include 0000 when reporting this."
ERRORS: dict[str, dict[str, Any]] = {
    "resource limits": {"type": "RESOURCE_LIMITS_EXCEEDED", "message": "Resource limits for this query exceeded."},
    "something went wrong": {"message": SOMETHING},
    "timeout": {"message": "Something went wrong while executing your query. This may be the result of a timeout."},
    "no error at all": {"silent": True},
}
LISTING_GAPS: dict[str, dict[str, Any]] = {
    "repository": {"path": ["repository"]},
    "repository, error at the listing": {"path": ["repository", "pullRequests"], "bubble": 1},
    "listing": {"path": ["repository", "pullRequests"]},
    "nodes": {"path": ["repository", "pullRequests", "nodes"]},
    "pageInfo": {"path": ["repository", "pullRequests", "pageInfo"], "drop": True},
    "endCursor": {"path": ["repository", "pullRequests", "pageInfo", "endCursor"]},
}


@pytest.mark.parametrize(
    ("gap", "error"),
    [*((gap, "resource limits") for gap in LISTING_GAPS), *(("listing", error) for error in [*ERRORS][1:])],
)
def test_a_listing_that_is_missing_in_an_answer_is_asked_for_again_in_smaller_pages(
    server: stand_ins.GraphQLStandIn, whole: dict[str, list[Any]], database: Path, gap: str, error: str
) -> None:
    server.faults(
        {"kind": "partial", "contains": "pullRequests(", "at": 2, "times": 3, **LISTING_GAPS[gap], **ERRORS[error]}
    )
    runner.mine(Store(database), source(server))
    counters = server.counters()
    assert counters["partial"] == 3
    sizes = [q["variables"]["first"] for q in counters["queries"] if q["name"] == "pulls"]
    assert min(sizes) < max(sizes)
    assert snapshot(database) == whole


@pytest.mark.parametrize("listing", ["pullRequests", "issues"])
def test_a_listing_that_ends_too_early_is_read_on_where_github_counts_more(
    server: stand_ins.GraphQLStandIn, whole: dict[str, list[Any]], database: Path, listing: str
) -> None:
    end = {"path": ["repository", listing, "pageInfo"], "value": {"hasNextPage": False, "endCursor": None}}
    server.faults({"kind": "partial", "contains": f"{listing}(", "at": 2, "silent": True, **end})
    runner.mine(Store(database), source(server), sleep=lambda _: None)
    assert server.counters()["partial"] == 1
    assert snapshot(database) == whole


@pytest.mark.parametrize("gap", ["repository, error at the listing", "listing", "nodes", "pageInfo"])
def test_a_listing_that_stays_missing_is_an_error_and_the_cursor_stays(
    server: stand_ins.GraphQLStandIn, whole: dict[str, list[Any]], database: Path, gap: str
) -> None:
    fault = {"kind": "partial", "contains": "pullRequests(", "at": 2, "times": ALWAYS}
    server.faults(fault | LISTING_GAPS[gap] | ERRORS["resource limits"])
    with pytest.raises(EmbersError, match="Resource limits"):
        runner.mine(Store(database), source(server))
    server.faults()
    runner.mine(Store(database), source(server))
    assert snapshot(database) == whole


def test_errors_without_data_shrink_the_page_too(
    server: stand_ins.GraphQLStandIn, whole: dict[str, list[Any]], database: Path
) -> None:
    body = json.dumps({"data": None, "errors": [{"message": SOMETHING}]})
    server.faults({"kind": "response", "status": 200, "body": body, "contains": "issues(", "at": 2, "times": 3})
    runner.mine(Store(database), source(server))
    sizes = [q["variables"]["first"] for q in server.counters()["queries"] if q["name"] == "issues"]
    assert min(sizes) < max(sizes)
    assert snapshot(database) == whole


FURTHER = {
    "comments": ("more_comments", "comments"),
    "files": ("more_files", "files"),
    "timelineItems": ("more_timelineItems", "timelineItems"),
}
FURTHER_GAPS: dict[str, dict[str, Any]] = {
    "node": {"path": ["node"]},
    "node, error at the connection": {"path": ["node", "PART"], "bubble": 1},
    "connection": {"path": ["node", "PART"]},
    "nodes": {"path": ["node", "PART", "nodes"]},
    "pageInfo": {"path": ["node", "PART", "pageInfo"], "drop": True},
    "single node": {"path": ["node", "PART", "nodes", 2]},
}


def further_fault(part: str, gap: str, **more: Any) -> dict[str, Any]:
    shape = FURTHER_GAPS[gap]
    path = [part if step == "PART" else step for step in shape["path"]]
    return {"kind": "partial", "contains": f"query {FURTHER[part][0]}(", **shape, "path": path, **more}


@pytest.mark.parametrize("part", FURTHER)
@pytest.mark.parametrize("gap", FURTHER_GAPS)
def test_a_further_page_that_is_missing_is_never_an_end(
    server: stand_ins.GraphQLStandIn, whole: dict[str, list[Any]], database: Path, part: str, gap: str
) -> None:
    # a single node that is null is asked for once more, with its whole item
    server.faults(further_fault(part, gap, times=1 if gap == "single node" else 3))
    report = runner.mine(Store(database), source(server))
    assert server.counters()["partial"] >= 1
    assert report.waiting == []
    assert snapshot(database) == whole


@pytest.mark.parametrize("gap", FURTHER_GAPS)
def test_further_pages_that_stay_missing_are_an_error_or_wait_and_are_complete_later(
    server: stand_ins.GraphQLStandIn, whole: dict[str, list[Any]], database: Path, gap: str
) -> None:
    server.faults(further_fault("comments", gap, times=ALWAYS, **ERRORS["something went wrong"]))
    waiting: object = None
    with contextlib.suppress(EmbersError):
        waiting = runner.mine(Store(database), source(server)).waiting
    assert waiting != [], "a run that ends well must say what lacks"
    server.faults()
    assert runner.mine(Store(database), source(server)).waiting == []
    assert snapshot(database) == whole


ITEM_GAPS: dict[str, list[Any]] = {
    "item": [],
    "comments": ["comments"],
    "nodes of comments": ["comments", "nodes"],
    "pageInfo of comments": ["comments", "pageInfo"],
    "one comment": ["comments", "nodes", 0],
    "a field of a comment": ["comments", "nodes", 0, "author"],
    "timeline": ["timelineItems"],
    "labels": ["labels"],
    "author": ["author"],
    "milestone": ["milestone"],
    "closing references": ["closedByPullRequestsReferences"],
}


@pytest.mark.parametrize("gap", ITEM_GAPS)
@pytest.mark.parametrize("error", ["something went wrong", "no error at all"])
def test_an_item_with_a_gap_is_read_again_at_the_end_of_the_run(
    server: stand_ins.GraphQLStandIn, whole: dict[str, list[Any]], database: Path, gap: str, error: str
) -> None:
    if error == "no error at all" and gap in ("author", "milestone", "a field of a comment"):
        pytest.skip("null without an error is a value there")
    path = ["repository", "issues", "nodes", 4, *ITEM_GAPS[gap]]
    server.faults({"kind": "partial", "contains": "query issues(", "path": path, **ERRORS[error]})
    report = runner.mine(Store(database), source(server))
    assert server.counters()["partial"] == 1
    assert [q["name"] for q in server.counters()["queries"]].count("item") == 1
    assert report.waiting == []
    assert snapshot(database) == whole
    runner.replay(Store(database))
    assert snapshot(database) == whole
    assert rows(database, "SELECT * FROM incomplete_items") == []


def test_an_item_that_stays_incomplete_is_stored_as_far_as_it_is_and_does_not_hold_up_the_rest(
    server: stand_ins.GraphQLStandIn, whole: dict[str, list[Any]], database: Path
) -> None:
    number = 5
    listed = {"kind": "partial", "contains": "query issues(", "path": ["repository", "issues", "nodes", 4, "comments"]}
    alone = {"kind": "partial", "contains": "query item(", "times": ALWAYS}
    server.faults(listed, alone | {"path": ["repository", "issueOrPullRequest", "comments"]})
    report = runner.mine(Store(database), source(server))
    [entry] = report.waiting
    number = entry.number
    assert entry.tries == 2
    assert rows(database, f"SELECT count(*), any_value(title) IS NOT NULL FROM items WHERE number = {number}") == [
        (1, True)
    ]
    assert rows(database, "SELECT count(*) FROM items") == [(len(whole["items"]),)]
    queue = "SELECT place, number, tries, reason, since = min(since) OVER () FROM incomplete_items"
    before = rows(database, queue)
    runner.replay(Store(database))
    assert rows(database, queue) == before
    [entry] = runner.mine(Store(database), source(server)).waiting
    assert entry.tries == 3
    server.faults()
    assert runner.mine(Store(database), source(server)).waiting == []
    assert snapshot(database) == whole


def test_the_command_prints_what_waits_and_ends_with_one_clean_line(
    server: stand_ins.GraphQLStandIn, database: Path
) -> None:
    listed = {"kind": "partial", "contains": "query issues(", "path": ["repository", "issues", "nodes", 4, "comments"]}
    alone = {"kind": "partial", "contains": "query item(", "times": ALWAYS}
    server.faults(listed, alone | {"path": ["repository", "issueOrPullRequest", "comments"]})
    command = ("mine", "--source", "graphql", "--api-url", server.url, "--database", database)
    done = run_embers(*command, GITHUB_TOKEN="token-one", EMBERS_PAUSE="0")
    assert "1 items are incomplete" in done.stdout
    assert_clean_error(done, 4, "again later")
    server.faults()
    assert run_embers(*command, GITHUB_TOKEN="token-one", EMBERS_PAUSE="0").returncode == 0


@pytest.mark.parametrize("listing", ["issues", "pulls"])
def test_an_item_whose_number_is_not_known_waits_by_its_place(
    server: stand_ins.GraphQLStandIn, whole: dict[str, list[Any]], database: Path, listing: str
) -> None:
    """Until it is read, though others stand in its place by then."""
    path = ["repository", {"issues": "issues", "pulls": "pullRequests"}[listing], "nodes", 4]
    listed = {"kind": "partial", "contains": f"query {listing}(", "path": path, "times": ALWAYS}
    server.faults(listed, listed | {"contains": f"query numbers_{listing}("})
    waiting = runner.mine(Store(database), source(server)).waiting
    assert waiting
    assert {entry.number for entry in waiting} == {None}
    server.faults()
    for place, (number,) in enumerate(rows(database, "SELECT number FROM items WHERE kind = 'pull' LIMIT 8")):
        server.touch(REPO, number, f"2026-01-01T00:{place:02d}:00Z")
    assert runner.mine(Store(database), source(server)).waiting == []
    assert rows(database, "SELECT number FROM items ORDER BY ALL") == [(row[1],) for row in sorted(whole["items"])]


def test_an_item_that_is_deleted_while_it_waits_becomes_a_tombstone(
    server: stand_ins.GraphQLStandIn, database: Path
) -> None:
    listed = {"kind": "partial", "contains": "query issues(", "path": ["repository", "issues", "nodes", 4, "comments"]}
    alone = {"kind": "partial", "contains": "query item(", "times": ALWAYS}
    server.faults(listed, alone | {"path": ["repository", "issueOrPullRequest", "comments"]})
    [entry] = runner.mine(Store(database), source(server)).waiting
    server.faults()
    assert entry.number is not None
    server.delete(REPO, entry.number)
    assert runner.mine(Store(database), source(server)).waiting == []
    assert rows(database, "SELECT number FROM items WHERE deleted_at IS NOT NULL") == [(entry.number,)]


def test_an_item_that_waits_is_not_gone_when_its_repository_is_not_found(
    server: stand_ins.GraphQLStandIn, database: Path
) -> None:
    listed = {"kind": "partial", "contains": "query issues(", "path": ["repository", "issues", "nodes", 4, "comments"]}
    alone = {"kind": "partial", "contains": "query item(", "times": ALWAYS, "path": ["repository"]}
    server.faults(listed, alone | {"type": "NOT_FOUND", "message": "Could not resolve to a Repository"})
    [entry] = runner.mine(Store(database), source(server)).waiting
    assert entry.number is not None
    assert rows(database, "SELECT count(*) FROM items WHERE deleted_at IS NOT NULL") == [(0,)]


def test_an_error_is_no_proof_that_an_item_is_gone(server: stand_ins.GraphQLStandIn, database: Path) -> None:
    runner.mine(Store(database), source(server))
    number = longest(server, "issue", "comments")
    path = ["repository", "issueOrPullRequest"]
    server.faults({"kind": "partial", "contains": "query item(", "path": path, "times": ALWAYS, "message": SOMETHING})
    with pytest.raises(EmbersError):
        runner.mine(Store(database), NumbersSource(source(server), [number], frozenset({number})))
    assert rows(database, "SELECT count(*) FROM items WHERE deleted_at IS NOT NULL") == [(0,)]


def test_what_a_token_may_not_see_is_set_aside_and_not_waited_for(
    server: stand_ins.GraphQLStandIn, database: Path
) -> None:
    path = ["repository", "issues", "nodes", 4, "closedByPullRequestsReferences"]
    server.faults(
        {"kind": "partial", "contains": "query issues(", "path": path, "type": "FORBIDDEN", "message": "SAML"}
    )
    report = runner.mine(Store(database), source(server))
    assert report.waiting == []
    assert [q["name"] for q in server.counters()["queries"]].count("item") == 0
    assert [r for (r,) in rows(database, "SELECT reason FROM rejects") if "SAML" in r]


def test_fewer_comments_than_github_counts_are_read_again(
    server: stand_ins.GraphQLStandIn, whole: dict[str, list[Any]], database: Path
) -> None:
    path = ["repository", "issues", "nodes", 4, "comments", "totalCount"]
    server.faults({"kind": "partial", "contains": "query issues(", "path": path, "value": 999, "silent": True})
    assert runner.mine(Store(database), source(server)).waiting == []
    assert [q["name"] for q in server.counters()["queries"]].count("item") == 1
    assert snapshot(database) == whole


# ---- pages that go on where they were ---------------------------------------------------------------------------------


def going_on_at(*key: str | int) -> dict[str, Any]:
    """A fault by which every page names the same place as the next."""
    text = base64.urlsafe_b64encode(json.dumps(key).encode()).decode().rstrip("=")
    return {"value": {"hasNextPage": True, "endCursor": text}, "silent": True, "times": ALWAYS}


def test_a_listing_that_goes_on_where_it_was_is_an_error(server: stand_ins.GraphQLStandIn, database: Path) -> None:
    fault = {"kind": "partial", "contains": "query issues(", "path": ["repository", "issues", "pageInfo"]}
    server.faults(fault | going_on_at("2000-01-01T00:00:00Z", 0))
    with pytest.raises(EmbersError, match="goes on where it was"):
        runner.mine(Store(database), source(server))


def test_an_item_whose_part_goes_on_where_it_was_waits(
    server: stand_ins.GraphQLStandIn, whole: dict[str, list[Any]], database: Path
) -> None:
    fault = {"kind": "partial", "contains": "query more_comments(", "path": ["node", "comments", "pageInfo"]}
    server.faults(fault | going_on_at(49))
    waiting: object = None
    with contextlib.suppress(EmbersError):
        waiting = runner.mine(Store(database), source(server)).waiting
    assert waiting != []
    server.faults()
    assert runner.mine(Store(database), source(server)).waiting == []
    assert snapshot(database) == whole


# ---- what is gone ------------------------------------------------------------------------------------------------


def test_what_an_item_no_longer_has_goes_when_it_is_read_again(
    server: stand_ins.GraphQLStandIn, database: Path, tmp_path: Path
) -> None:
    runner.mine(Store(database), source(server))
    moment = "2027-01-01T00:00:00Z"
    items = {i["number"]: i for i in server.dataset["repos"][0]["items"]}
    pull = next(n for n, i in items.items() if i["kind"] == "pull" and i["closes"] and len(i["files"]) > 1)
    talk = longest(server, "issue", "comments")
    server.update(REPO, pull, closes=[], files=items[pull]["files"][1:], updatedAt=moment)
    for issue in items[pull]["closes"]:
        server.update(REPO, issue, closedBy=[n for n in items[issue]["closedBy"] if n != pull])
    server.update(REPO, talk, comments=items[talk]["comments"][1:], milestone=None, author=None, updatedAt=moment)
    runner.mine(Store(database), source(server))
    fresh = tmp_path / "fresh.duckdb"
    runner.mine(Store(fresh), source(server))
    assert snapshot(database) == snapshot(fresh)
    stated = f"SELECT count(*) FROM links WHERE number = {pull} AND evidence = 'closing_reference'"
    assert rows(database, stated) == [(0,)]
    assert rows(database, f"SELECT author, milestone FROM items WHERE number = {talk}") == [("", "")]
    runner.replay(Store(database))
    assert snapshot(database) == snapshot(fresh)


def test_an_item_with_more_further_pages_than_are_read_waits(
    server: stand_ins.GraphQLStandIn,
    database: Path,
    monkeypatch: pytest.MonkeyPatch,
    whole: dict[str, list[tuple[Any, ...]]],
) -> None:
    monkeypatch.setattr(graphql_source, "FURTHER", 10)
    monkeypatch.setattr(graphql_source, "MOST_FURTHER", 2)
    report = runner.mine(Store(database), source(server))
    most = max(rows(database, "SELECT count(*) FROM comments GROUP BY number"))
    assert report.waiting, "some have more than 50 comments and two further pages of ten"
    assert most == (70,)
    monkeypatch.undo()
    assert not runner.mine(Store(database), source(server)).waiting
    assert snapshot(database) == whole
