"""The merged history as a source: commits in files, what they say of items, and that every tracker wins over them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from helpers.gitlog import REPO, mine_lines
from helpers.rows import Comment, Commit, Item, Row, replace, store_of
from support import execute, rows
from torch_embers.link.update_links import link_changed
from torch_embers.mine.git.commits import fixed_numbers
from torch_embers.store.store import Store
from unit.test_history import SHA, line

if TYPE_CHECKING:
    from pathlib import Path

OTHER_SHA = "b" * 40


GHSTACK = """[inductor] Keep strides of views

Fixes #55000.

[ghstack-poisoned]

ghstack-source-id: 9bc6dee0b427819f978bfabccb72727ba8be2f81
Pull-Request-resolved: https://github.com/pytorch/pytorch/pull/56000

Pull Request resolved: https://github.com/pytorch/pytorch/pull/56001
Approved by: https://github.com/ann
ghstack dependencies: #55998, #55999
"""
"""A stack is landed with no number in its subjects; a change that was submitted twice names both, the landed one last."""


def test_a_commit_of_a_stack_lands_the_last_pull_request_that_it_resolves(tmp_path: Path) -> None:
    found = mine_lines(tmp_path, line(message=GHSTACK))
    assert [commit.pull_number for commit in found.commits] == [56001]
    assert sorted((item.number, item.kind, item.title) for item in found.items) == [
        (55000, "issue", None),
        (56001, "pull", "[inductor] Keep strides of views"),
    ]
    link_changed(Store(found.path))
    links = rows(found.path, "SELECT relation, target_number FROM links WHERE sha IS NOT NULL ORDER BY ALL")
    assert links == [
        ("fixes", 55000),
        ("lands", 56001),
        ("stacked_with", 55998),
        ("stacked_with", 55999),
    ]


# --- links -------------------------------------------------------------------------------------------------------


def test_numbers_in_a_commit_of_another_repository_are_no_links(tmp_path: Path) -> None:
    message = "Their change (#5)\n\nFixes #6. See https://github.com/pytorch/pytorch/issues/77"
    foreign = Commit(REPO, SHA, subject="Their change (#5)", message=message, line="foreign")
    own = Commit(REPO, OTHER_SHA, subject="[auto] Update onnx to b8c4238 - Docs (#714)", message="[auto]", line="main")
    store = store_of(tmp_path / "e.duckdb", commits=[foreign, own])
    link_changed(store)
    assert rows(store.path, "SELECT relation, target_number FROM links") == [("mentions", 77)]


def linked(path: Path, *commits: Row) -> list[tuple[Any, ...]]:
    store = store_of(path, commits=list(commits))
    link_changed(store)
    return rows(
        store.path, f"SELECT relation, rule, target_number, target_sha FROM links WHERE sha = '{SHA}' ORDER BY ALL"
    )


LANDED = Commit(
    *(REPO, OTHER_SHA),
    committed_at="2021-01-01T00:00:00Z",
    subject="Faster cat (#51000)",
    message="Faster cat (#51000)\n\nfbshipit-source-id: 3cbeb728297a4466d8c9e3b0a1b2c3d4e5f60718",
    pull_number=51000,
)


def revert(subject: str, body: str = "", **values: Any) -> Commit:
    message = f"{subject}\n\n{body}"
    return Commit(REPO, SHA, committed_at="2021-01-03T00:00:00Z", subject=subject, message=message, **values)


@pytest.mark.parametrize(
    ("subject", "body", "rule"),
    [
        ("Revert D27864296: other words", "Original commit changeset: 3cbeb728297a", "original-changeset"),
        ("Revert D27864296: [pytorch][PR] Faster cat", "", "same-title"),
        ('Back out "Faster cat" (#51003)', "", "same-title"),
    ],
)
def test_a_revert_without_number_or_hash_of_this_repository_is_resolved(
    tmp_path: Path, subject: str, body: str, rule: str
) -> None:
    taking_out = revert(subject, body, pull_number=51003)
    found = [row for row in linked(tmp_path / "e.duckdb", LANDED, taking_out) if row[1] == rule]
    assert [(number, sha) for _, _, number, sha in found] == [(51000, OTHER_SHA)]


def test_a_reland_that_repeats_the_first_message_is_not_what_was_taken_out(tmp_path: Path) -> None:
    own = "fbshipit-source-id: f58a2a964ddf259af3909b0e961d0b0dfd0e35e2"
    again = replace(LANDED, sha="e" * 40, message=f"{LANDED.message}\n{own}", committed_at="2021-01-04T00:00:00Z")
    store = store_of(tmp_path / "e.duckdb", commits=[again, revert("x", "Original commit changeset: 3cbeb728297a")])
    link_changed(store)
    store = store_of(tmp_path / "e.duckdb", commits=[LANDED])
    link_changed(store)
    assert rows(store.path, "SELECT target_sha FROM links WHERE rule = 'original-changeset'") == [(OTHER_SHA,)]


def test_a_commit_says_nothing_but_landed_of_its_own_pull_request(tmp_path: Path) -> None:
    closing = revert("Add x (#51003)", "Closes https://github.com/pytorch/pytorch/pull/51003", pull_number=51003)
    assert [row[:3] for row in linked(tmp_path / "e.duckdb", closing)] == [("lands", "title-number", 51003)]


@pytest.mark.parametrize(
    "later", [{"line": "foreign"}, {"pull_number": 51003}, {"committed_at": "2020-01-01T00:00:00Z"}]
)
def test_a_commit_whose_place_is_another_one_now_is_linked_anew(tmp_path: Path, later: dict[str, Any]) -> None:
    known = revert("Add flip (#51003)", "Fixes #51000", line="main")
    fresh = linked(tmp_path / "fresh.duckdb", replace(known, **later))
    linked(tmp_path / "e.duckdb", known)
    store = store_of(tmp_path / "e.duckdb", commits=[replace(known, **later)])
    link_changed(store)
    query = f"SELECT relation, rule, target_number, target_sha FROM links WHERE sha = '{SHA}' ORDER BY ALL"
    assert rows(store.path, query) == fresh


@pytest.mark.parametrize(
    "body",
    [
        f"This reverts commit {OTHER_SHA[:10]}.",
        f"This reverts commit {OTHER_SHA}.",
        "Original commit changeset: 3cbeb728297a",
    ],
)
def test_a_link_by_hash_follows_its_commit_to_another_pull_request(tmp_path: Path, body: str) -> None:
    """And loses its number where the commit landed none."""
    said = revert("x", body) if "changeset" in body else None
    asking = Item(REPO, 60000, "pull", "Back", "" if said else body, updated_at="2021-01-03T00:00:00Z", source="rest")
    store = store_of(tmp_path / "e.duckdb", items=[asking], commits=[LANDED, *([said] if said else [])])
    query = f"SELECT target_number FROM links WHERE starts_with('{OTHER_SHA}', target_sha)"
    for number in (51000, None, 51007):
        store_of(store.path, commits=[replace(LANDED, pull_number=number)])
        link_changed(store)
        assert rows(store.path, query) == [(number,)]


@pytest.mark.parametrize("length", [10, 40])
def test_a_link_to_what_was_the_item_s_own_commit_comes_back_with_the_commit_s_place(
    tmp_path: Path, length: int
) -> None:
    body = f"This reverts commit {OTHER_SHA[:length]}."
    asking = Item(REPO, 60000, "pull", "Back", body, updated_at="2021-01-03T00:00:00Z", source="rest")
    said = Comment(REPO, 60000, "1", body=f"See https://github.com/{REPO}/commit/{OTHER_SHA[:length]}")
    store = store_of(tmp_path / "e.duckdb", items=[asking], comments=[said])
    query = "SELECT found_in, target_number FROM links WHERE number = 60000 ORDER BY ALL"
    for number in (60000, None, 60000, 51000, 60000, 51007):
        store_of(store.path, commits=[replace(LANDED, pull_number=number)])
        link_changed(store)
        found = [] if number == 60000 else [("body", number), ("comment", number)]
        assert rows(store.path, query) == found


def test_a_message_that_repeats_the_history_of_the_main_line_speaks_up_to_there(tmp_path: Path) -> None:
    body = "Fixes #50001\r\n" + "".join(f"* Theirs {n} (#{n})\r\n\r\nFixes #{n + 900}\r\n" for n in range(50100, 50112))
    merged = revert("Add flip (#51003)", body, pull_number=51003)
    links = linked(tmp_path / "e.duckdb", merged)
    assert [number for relation, _, number, _ in links if relation == "fixes"] == [50001]
    assert fixed_numbers(REPO, merged.subject or "", merged.message or "") == [50001]


THEIRS = "alice/vision"


@pytest.mark.parametrize(
    ("body", "link"),
    [
        (f"Fixes {REPO}#7", (THEIRS, 5, REPO, 7)),
        (f"Fixes {REPO}#5", (THEIRS, 5, REPO, 5)),
        (f"Superseded by {REPO}#7", (REPO, 7, THEIRS, 5)),
        (f"Superseded by {REPO}#5", (REPO, 5, THEIRS, 5)),
    ],
)
def test_what_an_item_says_of_another_repository_outlasts_an_edit_there(
    tmp_path: Path, body: str, link: tuple[Any, ...]
) -> None:
    query = "SELECT repo, number, target_repo, target_number FROM links"
    theirs = Item(THEIRS, 5, "pull", "Theirs", body, updated_at="2021-01-03T00:00:00Z", source="rest")
    ours = replace(theirs, repo=REPO, title="Ours", body="text")
    store = store_of(tmp_path / "e.duckdb", items=[theirs, ours])
    link_changed(store)
    assert rows(store.path, query) == [link]
    later = {"body": "another text", "updated_at": "2021-01-04T00:00:00Z"}
    link_changed(store_of(store.path, items=[replace(ours, **later)]))
    assert rows(store.path, query) == [link]
    link_changed(store_of(store.path, items=[replace(theirs, **later)]))
    assert rows(store.path, query) == []


def test_what_a_commit_says_outlasts_another_reading_of_it_in_a_fork(tmp_path: Path) -> None:
    ours = revert("Add flip (#51003)", f"Fixes {THEIRS}#6\nSuperseded by {THEIRS}#8", line="main")
    theirs = replace(ours, repo=THEIRS, subject="Add flip", message="Add flip")
    store = store_of(tmp_path / "e.duckdb", commits=[ours, theirs])
    link_changed(store)
    query = "SELECT repo, number, sha, relation, target_repo, target_number, target_sha FROM links ORDER BY ALL"
    known = rows(store.path, query)
    assert {row[3] for row in known} == {"fixes", "supersedes"}
    link_changed(store_of(store.path, commits=[replace(theirs, line="branch")]))
    assert rows(store.path, query) == known
    link_changed(store_of(store.path, commits=[replace(ours, line="branch")]))
    assert rows(store.path, query) == known


def test_what_a_text_said_that_is_gone_is_forgotten(tmp_path: Path) -> None:
    item, comment = Item(REPO, 5, "issue", "Wrong", "Duplicate of #6"), Comment(REPO, 5, "c1", body="Duplicate of #7")
    store = store_of(tmp_path / "e.duckdb", items=[item], comments=[comment], commits=[LANDED])
    link_changed(store)
    query = "SELECT relation, target_number FROM links ORDER BY ALL"
    assert rows(store.path, query) == [("duplicates", 6), ("duplicates", 7), ("lands", 51000)]
    execute(store.path, "DELETE FROM comments; DELETE FROM commits")
    assert link_changed(store).comments == 0
    assert rows(store.path, query) == [("duplicates", 6)]
    assert rows(store.path, "SELECT origin FROM link_scans WHERE origin <> 'tables'") == [("item",)]
