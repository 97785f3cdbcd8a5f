"""GraphQL answers with HTTP 200 and gaps: nothing that is missing is taken for an end, and what lacks is read again."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import pytest
from torch_embers.mine.github import graphql as graphql_source
from torch_embers.mine.github.graphql import GraphqlSource
from torch_embers.mine.github.numbers import NumbersSource
from torch_embers.mine.github.replies import Patience
from torch_embers.mine.scope import Scope

from servers.dataset import generated_dataset
from servers.github import FAULTS, GitHub
from servers.graph import encoded
from support import assert_clean_error, client, graphql, rows, run_embers, snapshot
from torch_embers.errors import EmbersError
from torch_embers.mine import runner
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

REPO = "pytorch/pytorch"
HASTY = Patience(retries=2, max_wait=20, timeout=5, pause=0, backoff=0.01, secondary_wait=0.1)
ALWAYS = 10_000


@pytest.fixture
def server() -> Iterator[GitHub]:
    with GitHub(generated_dataset(48)) as started:
        yield started
        assert started.refused == []


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple[Any, ...]]]:
    path = tmp_path_factory.mktemp("whole") / "e.duckdb"
    with GitHub(generated_dataset(48)) as started:
        runner.mine(Store(path), graphql(started.url, REPO))
    return snapshot(path)


def source(server: GitHub) -> GraphqlSource:
    return GraphqlSource(client(server.url, "token-one", patience=HASTY), Scope(REPO), issue_page=20, pull_page=6)


def longest(server: GitHub, kind: str, part: str) -> int:
    """Number of the item with most rows of a part."""
    items = next(r for r in server.dataset["repos"] if r["nameWithOwner"] == REPO)["items"]
    found: list[Any] = [i for i in items if i["kind"] == kind]
    return int(max(found, key=lambda i: len(i[part]))["number"])


def assert_completed(server: GitHub, database: Path, whole: dict[str, list[Any]]) -> None:
    """Without faults the next mine reads what lacks."""
    server.heal()
    assert runner.mine(Store(database), source(server)).waiting == []
    assert snapshot(database) == whole


LISTING_GAPS = (
    *("lost_repository", "lost_repository_by_listing", "lost_listing"),
    *("lost_nodes", "lost_page_info", "lost_cursor"),
)
ERRORS = ("resource_limits", "something_went_wrong", "timeout", "silence")


def fault(gap: str, error: str = "something_went_wrong", part: str = "") -> dict[str, Any]:
    """A fault of faults.toml in one part of an answer, with what stands beside it."""
    path = [part if step == "PART" else step for step in FAULTS[gap]["path"]]
    return FAULTS[error] | FAULTS[gap] | {"path": path}


@pytest.mark.parametrize(
    ("gap", "error"),
    [*((gap, ERRORS[0]) for gap in LISTING_GAPS), *(("lost_listing", error) for error in ERRORS[1:])],
)
def test_a_listing_that_is_missing_in_an_answer_is_asked_for_again_in_smaller_pages(
    server: GitHub, whole: dict[str, list[Any]], database: Path, gap: str, error: str
) -> None:
    server.fault(fault(gap, error, "pullRequests"), times=3, at=2, contains="pullRequests(")
    runner.mine(Store(database), source(server))
    assert server.met.total() == 3
    sizes = [q["variables"]["first"] for q in server.queries if q["name"] == "pulls"]
    assert min(sizes) < max(sizes)
    assert snapshot(database) == whole


@pytest.mark.parametrize("listing", ["pullRequests", "issues"])
def test_a_listing_that_ends_too_early_is_read_on_where_github_counts_more(
    server: GitHub, whole: dict[str, list[Any]], database: Path, listing: str
) -> None:
    server.fault(fault("early_end", part=listing), at=2, contains=f"{listing}(")
    runner.mine(Store(database), source(server), sleep=lambda _: None)
    assert server.met.total() == 1
    assert snapshot(database) == whole


@pytest.mark.parametrize("gap", ["lost_repository_by_listing", "lost_listing", "lost_nodes", "lost_page_info"])
def test_a_listing_that_stays_missing_is_an_error_and_the_cursor_stays(
    server: GitHub, whole: dict[str, list[Any]], database: Path, gap: str
) -> None:
    server.fault(fault(gap, "resource_limits", "pullRequests"), times=ALWAYS, at=2, contains="pullRequests(")
    with pytest.raises(EmbersError, match="Resource limits"):
        runner.mine(Store(database), source(server))
    server.heal()
    runner.mine(Store(database), source(server))
    assert snapshot(database) == whole


def test_errors_without_data_shrink_the_page_too(server: GitHub, whole: dict[str, list[Any]], database: Path) -> None:
    server.fault("no_data", times=3, at=2, contains="issues(")
    runner.mine(Store(database), source(server))
    sizes = [q["variables"]["first"] for q in server.queries if q["name"] == "issues"]
    assert min(sizes) < max(sizes)
    assert snapshot(database) == whole


FURTHER = ("comments", "files", "timelineItems")
FURTHER_GAPS = [name for name in FAULTS if name.startswith("further_")]


@pytest.mark.parametrize("part", FURTHER)
@pytest.mark.parametrize("gap", FURTHER_GAPS)
def test_a_further_page_that_is_missing_is_never_an_end(
    server: GitHub, whole: dict[str, list[Any]], database: Path, part: str, gap: str
) -> None:
    # a single node that is null is asked for once more, with its whole item
    times = 1 if gap == "further_lost_record" else 3
    server.fault(fault(gap, part=part), times=times, contains=f"query more_{part}(")
    report = runner.mine(Store(database), source(server))
    assert server.met.total() >= 1
    assert report.waiting == []
    assert snapshot(database) == whole


@pytest.mark.parametrize("gap", FURTHER_GAPS)
def test_further_pages_that_stay_missing_are_an_error_or_wait_and_are_complete_later(
    server: GitHub, whole: dict[str, list[Any]], database: Path, gap: str
) -> None:
    server.fault(fault(gap, part="comments"), times=ALWAYS, contains="query more_comments(")
    waiting: object = None
    with contextlib.suppress(EmbersError):
        waiting = runner.mine(Store(database), source(server)).waiting
    assert waiting != [], "a run that ends well must say what lacks"
    assert_completed(server, database, whole)


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
@pytest.mark.parametrize("error", ["something_went_wrong", "silence"])
def test_an_item_with_a_gap_is_read_again_at_the_end_of_the_run(
    server: GitHub, whole: dict[str, list[Any]], database: Path, gap: str, error: str
) -> None:
    if error == "silence" and gap in ("author", "milestone", "a field of a comment"):
        pytest.skip("null without an error is a value there")
    path = [*fault("lost_node", part="issues")["path"], *ITEM_GAPS[gap]]
    server.fault(FAULTS[error] | {"path": path}, contains="query issues(")
    report = runner.mine(Store(database), source(server))
    assert server.met.total() == 1
    assert [q["name"] for q in server.queries].count("item") == 1
    assert report.waiting == []
    assert snapshot(database) == whole
    runner.replay(Store(database))
    assert snapshot(database) == whole
    assert rows(database, "SELECT * FROM incomplete_items") == []


def stays_incomplete(server: GitHub) -> None:
    """One issue lacks its comments in the listing, and each time that it is asked for alone."""
    server.fault({"path": ["repository", "issues", "nodes", 4, "comments"]}, contains="query issues(")
    server.fault("lost_item", times=ALWAYS, contains="query item(")


def test_an_item_that_stays_incomplete_is_stored_as_far_as_it_is_and_does_not_hold_up_the_rest(
    server: GitHub, whole: dict[str, list[Any]], database: Path
) -> None:
    number = 5
    stays_incomplete(server)
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
    assert_completed(server, database, whole)


def test_the_command_prints_what_waits_and_ends_with_one_clean_line(server: GitHub, database: Path) -> None:
    stays_incomplete(server)
    command = ("mine", "--source", "graphql", "--api-url", server.url, "--database", database)
    done = run_embers(*command, GITHUB_TOKEN="token-one", EMBERS_PAUSE="0")
    assert "1 items are incomplete" in done.stdout
    assert_clean_error(done, 4, "again later")
    server.heal()
    assert run_embers(*command, GITHUB_TOKEN="token-one", EMBERS_PAUSE="0").returncode == 0


@pytest.mark.parametrize("listing", ["issues", "pulls"])
def test_an_item_whose_number_is_not_known_waits_by_its_place(
    server: GitHub, whole: dict[str, list[Any]], database: Path, listing: str
) -> None:
    """Until it is read, though others stand in its place by then."""
    for query in (f"query {listing}(", f"query numbers_{listing}("):
        part = {"issues": "issues", "pulls": "pullRequests"}[listing]
        server.fault(fault("lost_node", part=part), times=ALWAYS, contains=query)
    waiting = runner.mine(Store(database), source(server)).waiting
    assert waiting
    assert {entry.number for entry in waiting} == {None}
    server.heal()
    for place, (number,) in enumerate(rows(database, "SELECT number FROM items WHERE kind = 'pull' LIMIT 8")):
        server.update(REPO, number, updatedAt=f"2026-01-01T00:{place:02d}:00Z")
    assert runner.mine(Store(database), source(server)).waiting == []
    assert rows(database, "SELECT number FROM items ORDER BY ALL") == [(row[1],) for row in sorted(whole["items"])]


def test_an_item_that_is_deleted_while_it_waits_becomes_a_tombstone(server: GitHub, database: Path) -> None:
    stays_incomplete(server)
    [entry] = runner.mine(Store(database), source(server)).waiting
    server.heal()
    assert entry.number is not None
    server.delete(REPO, entry.number)
    assert runner.mine(Store(database), source(server)).waiting == []
    assert rows(database, "SELECT number FROM items WHERE deleted_at IS NOT NULL") == [(entry.number,)]


def test_an_item_that_waits_is_not_gone_when_its_repository_is_not_found(server: GitHub, database: Path) -> None:
    server.fault({"path": ["repository", "issues", "nodes", 4, "comments"]}, contains="query issues(")
    server.fault("repository_not_found", times=ALWAYS, contains="query item(")
    [entry] = runner.mine(Store(database), source(server)).waiting
    assert entry.number is not None
    assert rows(database, "SELECT count(*) FROM items WHERE deleted_at IS NOT NULL") == [(0,)]


def test_an_error_is_no_proof_that_an_item_is_gone(server: GitHub, database: Path) -> None:
    runner.mine(Store(database), source(server))
    number = longest(server, "issue", "comments")
    server.fault("lost_item_whole", times=ALWAYS, contains="query item(")
    with pytest.raises(EmbersError):
        runner.mine(Store(database), NumbersSource(source(server), [number], frozenset({number})))
    assert rows(database, "SELECT count(*) FROM items WHERE deleted_at IS NOT NULL") == [(0,)]


def test_what_a_token_may_not_see_is_set_aside_and_not_waited_for(server: GitHub, database: Path) -> None:
    server.fault("forbidden", contains="query issues(")
    report = runner.mine(Store(database), source(server))
    assert report.waiting == []
    assert [q["name"] for q in server.queries].count("item") == 0
    assert [r for (r,) in rows(database, "SELECT reason FROM rejects") if "SAML" in r]


def test_fewer_comments_than_github_counts_are_read_again(
    server: GitHub, whole: dict[str, list[Any]], database: Path
) -> None:
    server.fault("miscounted", contains="query issues(")
    assert runner.mine(Store(database), source(server)).waiting == []
    assert [q["name"] for q in server.queries].count("item") == 1
    assert snapshot(database) == whole


# ---- pages that go on where they were ---------------------------------------------------------------------------------


def goes_on_where_it_was(server: GitHub, query: str, *path: str) -> None:
    """Every page names the first place of the list as the next."""
    value = {"hasNextPage": True, "endCursor": encoded(["2000-01-01T00:00:00Z", 0])}
    server.fault({"path": [*path, "pageInfo"], "value": value, "silent": True}, times=ALWAYS, contains=query)


def test_a_listing_that_goes_on_where_it_was_is_an_error(server: GitHub, database: Path) -> None:
    goes_on_where_it_was(server, "query issues(", "repository", "issues")
    with pytest.raises(EmbersError, match="goes on where it was"):
        runner.mine(Store(database), source(server))


def test_an_item_whose_part_goes_on_where_it_was_waits(
    server: GitHub, whole: dict[str, list[Any]], database: Path
) -> None:
    goes_on_where_it_was(server, "query more_comments(", "node", "comments")
    waiting: object = None
    with contextlib.suppress(EmbersError):
        waiting = runner.mine(Store(database), source(server)).waiting
    assert waiting != []
    assert_completed(server, database, whole)


# ---- what is gone ------------------------------------------------------------------------------------------------


def test_what_an_item_no_longer_has_goes_when_it_is_read_again(server: GitHub, database: Path, tmp_path: Path) -> None:
    runner.mine(Store(database), source(server))
    moment = "2027-01-01T00:00:00Z"
    items = {i["number"]: i for i in server.dataset["repos"][0]["items"]}
    pull = next(n for n, i in items.items() if i["kind"] == "pull" and i["closes"] and len(i["files"]) > 1)
    talk = longest(server, "issue", "comments")
    server.update(REPO, pull, closes=[], files=items[pull]["files"][1:], updatedAt=moment)
    for issue in items[pull]["closes"]:
        server.update(REPO, issue, closedBy=[n for n in items[issue]["closedBy"] if n != pull])
    server.update(REPO, talk, comments=items[talk]["comments"][1:], milestone=None, author=None, updatedAt=moment)
    reviewed = next(i for i in items.values() if len(i["reviews"]) == 3 and i["reactionCounts"] and i["assignees"])
    last = {**reviewed["reviews"][2], "comments": reviewed["reviews"][2]["comments"][:1], "reactionCounts": {}}
    bare: dict[str, Any] = {"assignees": [], "reviewers": [], "reactionCounts": {}, "checks": None, "updatedAt": moment}
    server.update(REPO, reviewed["number"], reviews=[last], commits=reviewed["commits"][:1], **bare)
    parent = next(i for i in items.values() if len(i["subIssues"]) > 1)
    server.update(REPO, parent["subIssues"][0], parent=None, updatedAt=moment)
    server.update(REPO, parent["number"], subIssues=parent["subIssues"][1:], locked=False, updatedAt=moment)
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
    server: GitHub,
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
