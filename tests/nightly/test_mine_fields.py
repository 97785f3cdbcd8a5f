"""Everything that belongs to an item beyond its text arrives as the tracker has it, by each way of asking."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from conftest import ITEMS
from servers.dataset import generated_dataset
from servers.github import GitHub
from support import graphql, rows, snapshot
from torch_embers.mine import runner
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


REPO = "pytorch/pytorch"


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
