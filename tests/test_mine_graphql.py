"""Mining by GraphQL against GitHub's published schema, executed by graphql-js over known data."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from fewer_fields import PAGES, without_later_fields
from servers import stand_ins
from support import client, graphql, rows, snapshot
from torch_embers import resources
from torch_embers.errors import RateLimitError, ShortListingError, UnknownRepositoryError
from torch_embers.mine import runner
from torch_embers.mine.github.graphql import GraphqlSource
from torch_embers.mine.github.numbers import NumbersSource
from torch_embers.mine.records import graphql_records
from torch_embers.mine.scope import Scope
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.servers
REPO = "pytorch/pytorch"
QUERIES = sorted(
    p.stem for p in (resources.PACKAGE_DIR / "mine" / "records" / "queries").glob("*.graphql") if p.stem != "fragments"
)


@pytest.fixture
def server(graphql_server: stand_ins.GraphQLStandIn) -> Iterator[stand_ins.GraphQLStandIn]:
    graphql_server.restore()
    yield graphql_server
    graphql_server.restore()


def dataset_items(server: stand_ins.GraphQLStandIn, kind: str | None = None) -> dict[int, Any]:
    found = next(r for r in server.dataset["repos"] if r["nameWithOwner"] == REPO)["items"]
    return {i["number"]: i for i in found if kind is None or i["kind"] == kind}


def test_every_query_is_valid_by_the_published_schema(tmp_path: Path, graphql_server: stand_ins.GraphQLStandIn) -> None:
    paths = []
    for name in QUERIES:
        path = tmp_path / f"{name}.graphql"
        path.write_text(graphql_records.query(name))
        paths.append(path)
    assert len(paths) >= 7
    assert stand_ins.validate_queries(paths) == []


def test_items_come_with_everything_that_belongs_to_them(server: stand_ins.GraphQLStandIn, database: Path) -> None:
    runner.mine(Store(database), graphql(server.url, REPO))
    wanted = dataset_items(server)
    stored = {
        n: (kind, title, state, list(labels))
        for n, kind, title, state, labels in rows(database, "SELECT number, kind, title, state, labels FROM items")
    }
    assert set(stored) == set(wanted)
    for number, item in wanted.items():
        kind, title, state, labels = stored[number]
        assert kind == ("pull" if item["kind"] == "pull" else "issue")
        assert title == item["title"]
        assert state == ("open" if item["state"] == "OPEN" else "closed")
        assert labels == sorted(set(item["labels"]))
    comments = dict(rows(database, "SELECT number, count(*) FROM comments GROUP BY number"))
    assert comments == {n: len(i["comments"]) for n, i in wanted.items() if i["comments"]}
    files = dict(rows(database, "SELECT number, count(*) FROM pull_files GROUP BY number"))
    assert files == {n: len(i["files"]) for n, i in wanted.items() if i.get("files")}
    assert max(comments.values()) > 50, "the data must make a second page of comments necessary"
    assert max(files.values()) > 100, "the data must make a second page of files necessary"


@pytest.mark.slow
@pytest.mark.parametrize("bound", ["labels", "state", "since"])
def test_a_narrowed_mine_that_lacks_issues_is_noticed_by_the_count(
    server: stand_ins.GraphQLStandIn, database: Path, bound: str
) -> None:
    issues = dataset_items(server, "issue").values()
    common, _ = Counter(label for issue in issues for label in issue["labels"]).most_common(1)[0]
    half = sorted(issue["updatedAt"] for issue in issues)[len(issues) // 2]
    scope: dict[str, Any] = {bound: {"labels": (common,), "state": "open", "since": half}[bound]}
    runner.mine(Store(database), graphql(server.url, REPO, **scope), link=False)
    with Store(database).writer("test") as writer, writer.transaction() as connection:
        oldest = "SELECT number FROM items WHERE kind = 'issue' ORDER BY updated_at LIMIT 5"
        connection.execute(f"DELETE FROM items WHERE number IN ({oldest})")
    with pytest.raises(ShortListingError, match="issues missing"):
        runner.mine(Store(database), graphql(server.url, REPO, **scope), link=False, sleep=lambda _: None)


def test_requests_and_points_stay_near_the_computed_cost(server: stand_ins.GraphQLStandIn, database: Path) -> None:
    source = graphql(server.url, REPO)
    runner.mine(Store(database), source)
    server_cost = server.counters()["cost"]
    assert source.client.usage.points == server_cost
    assert server_cost <= 17 * len(dataset_items(server)) / 100, "many reviews here have more comments than a page"


@pytest.mark.slow
def test_the_fields_that_came_later_cost_at_most_as_many_points_again(
    server: stand_ins.GraphQLStandIn, database: Path
) -> None:
    runner.mine(Store(database), graphql(server.url, REPO), link=False)
    whole = server.counters()["cost"]
    server.reset_counters()
    with without_later_fields():
        source = GraphqlSource(client(server.url, "token-one"), Scope(REPO), **PAGES)
        runner.mine(Store(database.with_name("fewer.duckdb")), source, link=False)
    assert server.counters()["cost"] < whole <= 2 * server.counters()["cost"]


def test_a_second_mine_reads_one_page_of_each_listing(server: stand_ins.GraphQLStandIn, database: Path) -> None:
    runner.mine(Store(database), graphql(server.url, REPO))
    before = snapshot(database)
    again = graphql(server.url, REPO)
    runner.mine(Store(database), again)
    assert snapshot(database) == before
    assert again.client.usage.requests <= 14, "the pages, their overflowing parts, and the comments of reviews"


def test_changes_between_two_mines_arrive(server: stand_ins.GraphQLStandIn, database: Path) -> None:
    runner.mine(Store(database), graphql(server.url, REPO))
    issue = min(dataset_items(server, "issue"))
    pull = min(dataset_items(server, "pull"))
    server.update(REPO, issue, title="a new title", updatedAt="2027-01-01T00:00:00Z")
    server.update(REPO, pull, title="another title", updatedAt="2027-01-01T00:00:01Z")
    runner.mine(Store(database), graphql(server.url, REPO))
    got = dict(rows(database, f"SELECT number, title FROM items WHERE number IN ({issue}, {pull})"))
    assert got == {issue: "a new title", pull: "another title"}


def test_the_type_of_an_issue_is_stored(server: stand_ins.GraphQLStandIn, database: Path) -> None:
    first, *_ = dataset_items(server, "issue")
    server.update(REPO, first, issueType="Bug")
    runner.mine(Store(database), graphql(server.url, REPO), link=False)
    types = dict(rows(database, "SELECT number, issue_type FROM items"))
    assert types == {n: None if i["kind"] == "pull" else "" for n, i in dataset_items(server).items()} | {first: "Bug"}


def test_a_server_without_types_of_issues_is_asked_without_them(
    server: stand_ins.GraphQLStandIn, database: Path
) -> None:
    server.older()
    source = graphql(server.url, REPO)
    runner.mine(Store(database), source, link=False)
    assert len(rows(database, "FROM items")) == len(dataset_items(server))
    assert rows(database, "SELECT DISTINCT issue_type FROM items") == [(None,)], "nothing is known of it"
    assert [note for note in source.notes if "issueType" in note] == source.notes
    assert server.counters()["refused"] == 1, "one query is refused, and no later one names the field"


def test_replay_rebuilds_equal_tables_offline(server: stand_ins.GraphQLStandIn, database: Path) -> None:
    runner.mine(Store(database), graphql(server.url, REPO))
    before = snapshot(database)
    runner.replay(Store(database))
    assert snapshot(database) == before


@pytest.mark.slow
def test_an_interrupted_mine_goes_on_where_it_stopped(
    server: stand_ins.GraphQLStandIn, database: Path, tmp_path: Path
) -> None:
    whole = tmp_path / "whole.duckdb"
    runner.mine(Store(whole), graphql(server.url, REPO))
    for budget in range(3, 60):
        part = graphql(server.url, REPO)
        part.client.budget = max(budget, 12)
        if not runner.mine(Store(database), part).stopped:
            break
    assert snapshot(database) == snapshot(whole)


def test_a_node_the_server_cannot_answer_for_is_read_by_its_number_at_the_end(
    server: stand_ins.GraphQLStandIn, database: Path
) -> None:
    server.faults({"kind": "null_node", "at": 1, "times": 1, "index": 3, "contains": "issues("})
    report = runner.mine(Store(database), graphql(server.url, REPO))
    assert server.counters()["faults"] == 1
    assert report.waiting == []
    assert rows(database, "SELECT count(*) FROM items")[0][0] == len(dataset_items(server))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["truncated", "short_body", "drop"])
def test_a_broken_answer_is_asked_for_again(
    server: stand_ins.GraphQLStandIn, database: Path, tmp_path: Path, kind: str
) -> None:
    whole = tmp_path / "whole.duckdb"
    runner.mine(Store(whole), graphql(server.url, REPO))
    server.faults({"kind": kind, "at": 3, "times": 2})
    runner.mine(Store(database), graphql(server.url, REPO))
    assert server.counters()["faults"] >= 1
    assert snapshot(database) == snapshot(whole)


def test_a_used_up_quota_with_http_200_is_waited_for(server: stand_ins.GraphQLStandIn, database: Path) -> None:
    server.faults({"kind": "rate_limited", "at": 3, "times": 1, "reset_in": 1})
    runner.mine(Store(database), graphql(server.url, REPO))
    assert rows(database, "SELECT count(*) FROM items")[0][0] == len(dataset_items(server))


def test_a_wait_beyond_the_allowed_one_raises_instead_of_sleeping(
    server: stand_ins.GraphQLStandIn, database: Path
) -> None:
    server.limit(limit=4, reset_in=3_000)
    with pytest.raises(RateLimitError, match="--max-wait") as caught:
        runner.mine(Store(database), graphql(server.url, REPO))
    assert 2_500 < caught.value.wait_seconds <= 3_002
    server.limit()
    runner.mine(Store(database), graphql(server.url, REPO))
    assert rows(database, "SELECT count(*) FROM items")[0][0] == len(dataset_items(server))


def test_deleted_and_transferred_items_become_tombstones(server: stand_ins.GraphQLStandIn, database: Path) -> None:
    runner.mine(Store(database), graphql(server.url, REPO))
    first, second = sorted(dataset_items(server, "issue"))[:2]
    server.delete(REPO, first)
    server.transfer(REPO, second, "pytorch/vision", 77, "2027-01-01T00:00:00Z")
    known = frozenset({first, second})
    runner.mine(Store(database), NumbersSource(graphql(server.url, REPO), [first, second], known))
    gone = rows(database, f"SELECT number FROM items WHERE deleted_at IS NOT NULL AND number IN ({first}, {second})")
    assert {n for (n,) in gone} == {first, second}
    assert rows(database, f"SELECT title IS NOT NULL FROM items WHERE number = {first}") == [(True,)]


def test_a_renamed_repository_is_stored_under_its_new_name(server: stand_ins.GraphQLStandIn, database: Path) -> None:
    server.rename_repo(REPO, "pytorch/pytorch-next")
    report = runner.mine(Store(database), graphql(server.url, REPO))
    assert {r for (r,) in rows(database, "SELECT DISTINCT repo FROM items")} == {"pytorch/pytorch-next"}
    assert any("pytorch-next" in note for note in report.notes)


def test_an_unknown_repository_is_named(server: stand_ins.GraphQLStandIn, database: Path) -> None:
    with pytest.raises(UnknownRepositoryError, match="nobody/nothing"):
        runner.mine(Store(database), graphql(server.url, "nobody/nothing"))


def test_closing_references_become_fixing_links(server: stand_ins.GraphQLStandIn, database: Path) -> None:
    runner.mine(Store(database), graphql(server.url, REPO))
    wanted = {(n, target) for n, item in dataset_items(server, "pull").items() for target in item.get("closes", [])}
    got = set(rows(database, "SELECT number, target_number FROM links WHERE evidence = 'closing_reference'"))
    assert wanted
    assert wanted <= got


@pytest.mark.slow
def test_the_real_texts_arrive_whole(shared_graphql: stand_ins.GraphQLStandIn, database: Path) -> None:
    runner.mine(Store(database), graphql(shared_graphql.url, REPO))
    wanted = dataset_items(shared_graphql)
    bodies = dict(rows(database, "SELECT number, body FROM items"))
    assert len(bodies) == len(wanted) > 1_200
    assert all(bodies[n] == (i["body"] or "").replace("\x00", "\ufffd") for n, i in wanted.items())
