"""Mining by GraphQL: every item arrives with what belongs to it, at the computed cost, and again only where it changed."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from torch_embers.mine.github.client import GitHubClient
from torch_embers.mine.github.graphql import GraphqlSource
from torch_embers.mine.scope import Scope

from conftest import ITEMS
from servers.dataset import generated_dataset
from servers.github import GitHub
from support import QUICK, graphql, rows, snapshot
from torch_embers.errors import ShortListingError, UnknownRepositoryError
from torch_embers.mine import runner
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

REPO = "pytorch/pytorch"


def dataset_items(server: GitHub, kind: str | None = None) -> dict[int, Any]:
    found = next(r for r in server.dataset["repos"] if r["nameWithOwner"] == REPO)["items"]
    return {i["number"]: i for i in found if kind is None or i["kind"] == kind}


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


def test_every_text_arrives_as_it_is(server: GitHub, database: Path) -> None:
    runner.mine(Store(database), graphql(server.url, REPO), link=False)
    bodies = {n: item["body"].replace("\x00", "\ufffd") for n, item in dataset_items(server).items()}
    assert dict(rows(database, "SELECT number, body FROM items")) == bodies


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


# ---- everything that belongs to an item beyond its text


@pytest.fixture(scope="module")
def mined(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with everything of the tracker."""
    path = tmp_path_factory.mktemp("fields") / "e.duckdb"
    with GitHub(generated_dataset(ITEMS)) as server:
        runner.mine(Store(path), graphql(server.url, REPO))
    return path


@pytest.fixture
def wanted() -> dict[int, Any]:
    """Items of the tracker by number."""
    return {item["number"]: item for item in generated_dataset(ITEMS)["repos"][0]["items"]}


def lower(value: str | None) -> str | None:
    return value.lower() if value else None


def test_items_come_with_everything_that_belongs_to_them(mined: Path, wanted: dict[int, Any]) -> None:
    stored = {number: row for number, *row in rows(mined, "SELECT number, kind, title, body, state, labels FROM items")}
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
    comments = dict(rows(mined, "SELECT number, count(*) FROM comments GROUP BY number"))
    assert comments == {n: len(i["comments"]) for n, i in wanted.items() if i["comments"]}
    files = dict(rows(mined, "SELECT number, count(*) FROM pull_files GROUP BY number"))
    assert files == {n: len(i["files"]) for n, i in wanted.items() if i.get("files")}
    assert max(comments.values()) > 50, "the data must make a second page of comments necessary"
    assert max(files.values()) > 100, "the data must make a second page of files necessary"


def test_closing_references_become_fixing_links(mined: Path, wanted: dict[int, Any]) -> None:
    closed = {(number, target) for number, item in wanted.items() for target in item.get("closes") or ()}
    got = set(rows(mined, "SELECT number, target_number FROM links WHERE evidence = 'closing_reference'"))
    assert closed
    assert closed <= got


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


def at(value: str) -> str:
    return f"strftime({value}, '%Y-%m-%dT%H:%M:%SZ')"


def test_reviews_and_their_comments_are_those_of_the_tracker(mined: Path, wanted: dict[int, Any]) -> None:
    got = rows(
        mined,
        f"SELECT number, review_id, author, author_association, state, body, commit_sha, {at('submitted_at')}, "
        f"{at('updated_at')}, comment_count FROM reviews ORDER BY ALL",
    )
    assert got == sorted(
        (
            number,
            str(review["databaseId"]),
            review["author"],
            review["authorAssociation"],
            review["state"].lower(),
            review["body"],
            review["commit"],
            review["submittedAt"],
            review["updatedAt"],
            len(review["comments"]),
        )
        for number, item in wanted.items()
        for review in item["reviews"]
    )
    assert len(got) > 40
    said = rows(
        mined,
        "SELECT number, comment_id, review_id, reply_to, author, author_association, path, line, original_line, commit_sha, "
        f"{at('created_at')}, {at('updated_at')}, body FROM review_comments ORDER BY number, comment_id",
    )
    assert said == sorted(
        (
            number,
            str(comment["databaseId"]),
            str(review["databaseId"]),
            str(comment["replyTo"]) if comment["replyTo"] else None,
            comment["author"],
            comment["authorAssociation"],
            comment["path"],
            comment["line"],
            comment["originalLine"],
            comment["originalCommit"],
            comment["createdAt"],
            comment["updatedAt"],
            comment["body"],
        )
        for number, item in wanted.items()
        for review in item["reviews"]
        for comment in review["comments"]
    )
    longest = max(len(review["comments"]) for item in wanted.values() for review in item["reviews"])
    assert longest > 100, "the data must make a second page of review comments necessary"


def test_commits_checks_and_people_are_those_of_the_tracker(mined: Path, wanted: dict[int, Any]) -> None:
    commits = rows(
        mined,
        f"SELECT number, sha, author, author_login, {at('authored_at')}, message FROM pull_commits ORDER BY number, sha",
    )
    assert commits == sorted(
        (number, commit["oid"], commit["name"], commit["login"], commit["date"], commit["message"])
        for number, item in wanted.items()
        for commit in item["commits"]
    )
    assert max(len(item["commits"]) for item in wanted.values()) > 100, "a second page of the timeline is necessary"
    checks = rows(mined, "SELECT number, kind, state, checks, sha FROM checks ORDER BY ALL")
    assert checks == sorted(
        (number, kind, state.lower(), count, item["headSha"])
        for number, item in wanted.items()
        if item["kind"] == "pull" and item["checks"]
        for kind, name in (("check_run", "runs"), ("status_context", "contexts"))
        for state, count in item["checks"][name].items()
        if count
    )
    people = rows(mined, "SELECT number, role, login FROM item_people ORDER BY ALL")
    assert people == sorted(
        (number, role, login)
        for number, item in wanted.items()
        for role, logins in (("assignee", item["assignees"]), ("reviewer", item["reviewers"]))
        for login in logins
    )
    assert any("/" in login for _, _, login in people)


def test_reactions_are_counted_by_kind_for_items_comments_and_reviews(mined: Path, wanted: dict[int, Any]) -> None:
    kinds = ("thumbs_up", "thumbs_down", "laugh", "hooray", "confused", "heart", "rocket", "eyes")
    got = rows(mined, f"SELECT number, subject, subject_id, {', '.join(kinds)} FROM reactions ORDER BY ALL")

    def subjects() -> Iterator[tuple[int, str, str, dict[str, int]]]:
        for number, item in wanted.items():
            yield number, "item", "", item["reactionCounts"]
            for comment in item["comments"]:
                yield number, "comment", str(comment["databaseId"]), comment["reactionCounts"]
            for review in item["reviews"]:
                yield number, "review", str(review["databaseId"]), review["reactionCounts"]
                for comment in review["comments"]:
                    yield number, "review_comment", str(comment["databaseId"]), comment["reactionCounts"]

    assert got == sorted(
        (number, subject, name, *(counts.get(kind.upper(), 0) for kind in kinds))
        for number, subject, name, counts in subjects()
        if counts
    )
    assert {subject for _, subject, *_ in got} == {"item", "comment", "review", "review_comment"}


def test_sub_issues_become_links_to_their_parent(mined: Path, wanted: dict[int, Any]) -> None:
    got = rows(mined, "SELECT number, target_number FROM links WHERE relation = 'sub_issue_of' ORDER BY ALL")
    assert got == sorted((number, item["parent"]) for number, item in wanted.items() if item["parent"])
    assert got


def test_accounts_have_their_number_type_and_association(mined: Path, wanted: dict[int, Any]) -> None:
    got = {login: rest for login, *rest in rows(mined, "SELECT login, user_id, type, association FROM users")}
    authors = {item["author"] for item in wanted.values()} - {None}
    assert authors <= set(got)
    assert {login for login in got if login.endswith("[bot]")} == {"pytorch-bot[bot]"}
    assert all(number and kind == ("Bot" if "[" in login else "User") for login, (number, kind, _) in got.items())
    assert all(got[author][2] for author in authors)


def test_review_comments_that_could_not_be_read_are_read_by_the_next_mine(
    server: GitHub, mined: Path, tmp_path: Path
) -> None:
    database = tmp_path / "e.duckdb"
    server.fault("review_lost", contains="query review_comments")
    runner.mine(Store(database), graphql(server.url, REPO))
    assert server.met.total() == 1
    runner.mine(Store(database), graphql(server.url, REPO))
    assert rows(database, "SELECT * FROM incomplete_items") == []
    assert snapshot(database) == snapshot(mined)
