"""Mining by GraphQL: every item arrives with what belongs to it, at the computed cost, and again only where it changed."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from support import QUICK, graphql, rows, snapshot
from torch_embers.errors import ShortListingError, UnknownRepositoryError
from torch_embers.mine import runner
from torch_embers.mine.github.client import GitHubClient
from torch_embers.mine.github.graphql import GraphqlSource
from torch_embers.mine.scope import Scope
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from pathlib import Path

    from servers.github import GitHub

REPO = "pytorch/pytorch"


def dataset_items(server: GitHub, kind: str | None = None) -> dict[int, Any]:
    found = next(r for r in server.dataset["repos"] if r["nameWithOwner"] == REPO)["items"]
    return {i["number"]: i for i in found if kind is None or i["kind"] == kind}


def test_items_come_with_everything_that_belongs_to_them(server: GitHub, database: Path) -> None:
    runner.mine(Store(database), graphql(server.url, REPO))
    wanted = dataset_items(server)
    stored = {
        number: row for number, *row in rows(database, "SELECT number, kind, title, body, state, labels FROM items")
    }
    assert stored == {
        number: [
            "pull" if item["kind"] == "pull" else "issue",
            item["title"],
            item["body"].replace("\x00", "\ufffd"),
            "open" if item["state"] == "OPEN" else "closed",
            sorted(set(item["labels"])),
        ]
        for number, item in wanted.items()
    }
    comments = dict(rows(database, "SELECT number, count(*) FROM comments GROUP BY number"))
    assert comments == {n: len(i["comments"]) for n, i in wanted.items() if i["comments"]}
    files = dict(rows(database, "SELECT number, count(*) FROM pull_files GROUP BY number"))
    assert files == {n: len(i["files"]) for n, i in wanted.items() if i.get("files")}
    assert max(comments.values()) > 50, "the data must make a second page of comments necessary"
    assert max(files.values()) > 100, "the data must make a second page of files necessary"


@pytest.mark.parametrize("bound", ["labels", "state", "since"])
def test_a_narrowed_mine_that_lacks_issues_is_noticed_by_the_count(server: GitHub, database: Path, bound: str) -> None:
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


def test_requests_and_points_stay_near_the_computed_cost(server: GitHub, database: Path) -> None:
    source = graphql(server.url, REPO)
    runner.mine(Store(database), source)
    server_cost = server.cost
    assert source.client.usage.points == server_cost
    assert server_cost <= 24 * len(dataset_items(server)) / 100, "many items here have long lists"


def test_a_second_mine_reads_one_page_of_each_listing(server: GitHub, database: Path) -> None:
    runner.mine(Store(database), graphql(server.url, REPO))
    before = snapshot(database)
    again = graphql(server.url, REPO)
    runner.mine(Store(database), again)
    assert snapshot(database) == before
    assert again.client.usage.requests <= 16, "the pages, their overflowing parts, and the comments of reviews"


def test_the_type_of_an_issue_is_stored(server: GitHub, database: Path) -> None:
    first, *_ = dataset_items(server, "issue")
    server.update(REPO, first, issueType="Bug")
    runner.mine(Store(database), graphql(server.url, REPO), link=False)
    types = dict(rows(database, "SELECT number, issue_type FROM items"))
    assert types == {n: None if i["kind"] == "pull" else "" for n, i in dataset_items(server).items()} | {first: "Bug"}


def test_a_server_without_types_of_issues_is_asked_without_them(server: GitHub, database: Path) -> None:
    server.graph.older = True
    source = graphql(server.url, REPO)
    runner.mine(Store(database), source, link=False)
    assert len(rows(database, "FROM items")) == len(dataset_items(server))
    assert rows(database, "SELECT DISTINCT issue_type FROM items") == [(None,)], "nothing is known of it"
    assert [note for note in source.notes if "issueType" in note] == source.notes
    assert len(server.refused) == 1, "one query is refused, and no later one names the field"
    server.forget()


def test_an_interrupted_mine_goes_on_where_it_stopped(server: GitHub, database: Path, tmp_path: Path) -> None:
    whole = tmp_path / "whole.duckdb"
    runner.mine(Store(whole), graphql(server.url, REPO))
    for budget in range(3, 60):
        part = graphql(server.url, REPO)
        part.client.budget = max(budget, 12)
        if not runner.mine(Store(database), part).stopped:
            break
    assert snapshot(database) == snapshot(whole)


def test_a_used_up_quota_with_http_200_is_waited_for(server: GitHub, database: Path) -> None:
    slept: list[float] = []
    server.fault("graphql_quota_spent", "/graphql", at=3)
    patient = GitHubClient(server.url, ["token-one"], QUICK, sleep=slept.append)
    runner.mine(Store(database), GraphqlSource(patient, Scope(REPO)))
    assert 2 < max(slept) < 6
    assert rows(database, "SELECT count(*) FROM items")[0][0] == len(dataset_items(server))


def test_a_renamed_repository_is_stored_under_its_new_name(server: GitHub, database: Path) -> None:
    server.rename_repo(REPO, "pytorch/pytorch-next")
    report = runner.mine(Store(database), graphql(server.url, REPO))
    assert {r for (r,) in rows(database, "SELECT DISTINCT repo FROM items")} == {"pytorch/pytorch-next"}
    assert any("pytorch-next" in note for note in report.notes)


def test_an_unknown_repository_is_named(server: GitHub, database: Path) -> None:
    with pytest.raises(UnknownRepositoryError, match="nobody/nothing"):
        runner.mine(Store(database), graphql(server.url, "nobody/nothing"))


def test_closing_references_become_fixing_links(server: GitHub, database: Path) -> None:
    runner.mine(Store(database), graphql(server.url, REPO))
    wanted = {(n, target) for n, item in dataset_items(server, "pull").items() for target in item.get("closes", [])}
    got = set(rows(database, "SELECT number, target_number FROM links WHERE evidence = 'closing_reference'"))
    assert wanted
    assert wanted <= got
