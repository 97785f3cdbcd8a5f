"""Answers of another form than GitHub's: each part is a record or a reject with a reason, never a traceback."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch_embers.mine.pages import make_page
from torch_embers.mine.records.answers import parsed, printed, shaped
from torch_embers.mine.records.rest_records import BadRecordError
from torch_embers.store.tables import TABLES, to_arrow

from torch_embers.mine import readers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_embers.store.records import Batch

DAY = "2024-01-01T00:00:00Z"
USER = {"__typename": "User", "login": "u", "databaseId": 1, "id": 1, "type": "User"}
HOME = {"nameWithOwner": "a/b"}
ENDS = {"hasNextPage": False, "endCursor": None}


def event(name: str, **more: Any) -> dict[str, Any]:
    return {"__typename": name, "id": f"E{name}", "createdAt": DAY, "actor": USER, **more}


COMMON = {
    "title": "t", "body": "b", "createdAt": DAY, "updatedAt": DAY, "closedAt": DAY, "author": USER,
    "milestone": {"title": "m", "number": 1, "dueOn": DAY}, "reactions": {"totalCount": 3}, "locked": True,
    "labels": {"nodes": [{"name": "l"}]},
    "comments": {"totalCount": 1, "pageInfo": ENDS, "nodes": [
        {"id": "C1", "fullDatabaseId": "5", "author": USER, "createdAt": DAY, "updatedAt": DAY, "body": "x"}]},
}  # fmt: skip
ISSUE = COMMON | {
    "__typename": "Issue", "id": "I1", "number": 7, "state": "CLOSED", "stateReason": "COMPLETED",
    "timelineItems": {"pageInfo": ENDS, "nodes": [
        event("LabeledEvent", label={"name": "l"}),
        event("RenamedTitleEvent", previousTitle="p", currentTitle="c"),
        event("ClosedEvent", closer={"__typename": "PullRequest", "number": 5, "repository": HOME}),
        event("TransferredEvent", fromRepository=HOME),
        event("MarkedAsDuplicateEvent", canonical={"number": 5, "repository": HOME}),
        event("CrossReferencedEvent", willCloseTarget=True, source={"number": 5, "repository": HOME}),
        event("ReferencedEvent", commit={"oid": "a" * 40})]},
    "closedByPullRequestsReferences": {"nodes": [{"number": 9, "repository": HOME}]},
}  # fmt: skip
PULL = copy.deepcopy(COMMON) | {
    "__typename": "PullRequest", "id": "P1", "number": 8, "pullState": "MERGED", "merged": True, "mergedAt": DAY,
    "mergeCommit": {"oid": "a" * 40}, "mergedBy": USER, "statusCheckRollup": {"state": "SUCCESS"},
    "files": {"pageInfo": ENDS, "nodes": [{"path": "a.py", "additions": 1, "deletions": 2, "changeType": "ADDED"}]},
    "closingIssuesReferences": {"nodes": [{"number": 7, "repository": HOME}]},
}  # fmt: skip
REST_ISSUE = {
    "repository_url": "https://api.github.com/repos/a/b", "number": 7, "title": "t", "body": "b", "state": "closed",
    "state_reason": "completed", "user": USER, "labels": [{"name": "l"}], "milestone": {"title": "m", "number": 1},
    "assignees": [USER], "comments": 3, "reactions": {"total_count": 3}, "created_at": DAY, "updated_at": DAY,
    "closed_at": DAY, "closed_by": USER, "locked": True, "pull_request": {"merged_at": DAY}, "draft": False,
    "head": {"sha": "a" * 40, "ref": "x"}, "base": {"ref": "main"},
}  # fmt: skip
REST_EVENT = {
    "id": 1, "actor": USER, "created_at": DAY, "label": {"name": "l"}, "rename": {"from": "a", "to": "b"},
    "commit_id": "a" * 40, "source": {"issue": REST_ISSUE}, "issue": REST_ISSUE,
}  # fmt: skip
REST_COMMENT = {
    "id": 1, "issue_url": "https://api.github.com/repos/a/b/issues/7", "user": USER, "body": "b",
    "created_at": DAY, "updated_at": DAY,
}  # fmt: skip
EVENTS = [REST_EVENT | {"event": name} for name in ("labeled", "closed", "renamed", "cross-referenced", "referenced")]
REPOSITORY = HOME | {
    "issues": {"totalCount": 1, "pageInfo": ENDS, "nodes": [ISSUE]},
    "pullRequests": {"totalCount": 1, "pageInfo": ENDS, "nodes": [PULL]},
}
ANSWER = {
    "data": {"rateLimit": {"cost": 1}, "repository": REPOSITORY},
    "errors": [{"type": "X", "message": "m", "path": ["repository", "issues", "nodes", 0]}],
}
TIMELINE = '/repos/a/b/issues/7/timeline {"ends": true, "again": 1, "comments": 1, "begun": ""}'
PAGES: dict[str, tuple[str, Any]] = {
    "graphql": ("q", ANSWER),
    "graphql.2": ("q", ANSWER),
    "graphql.numbers": (
        json.dumps({"listing": "issues", "variables": {}, "known": [1], "missing": 1}),
        {"data": {"repository": {"issues": {"nodes": [{"number": 7}]}}}},
    ),
    "rest.items": ("/repos/a/b/issues", [REST_ISSUE]),
    "rest.comments": ("/repos/a/b/issues/comments", [REST_COMMENT]),
    "rest.events": ("/repos/a/b/issues/events", EVENTS),
    "rest.timeline": (TIMELINE, [*EVENTS, REST_COMMENT | {"event": "commented"}]),
    "github.tombstone": ("x", {"number": 7, "known": True, "transferred_to": "https://x/repos/a/b/issues/9"}),
    "jsonl.records": ("f:1", REST_ISSUE),
}
ODD: list[Any] = [
    *(None, True, 0, -1, 10**30, 2**31, -(2**63), 1e308, float("nan"), "", "\0", "\ud800", "ghost", "1e999"),
    *("99999-01-01T00:00:00Z", "0000-00-00", "2024-01-01T00:00:00+99:99", "0001-01-01T00:00:00+14:00"),
    *([], {}, [None], [[]], [1], {"nodes": [None]}, {"nodes": 5}, {"nodes": {}}, {"number": 10**30}, {"login": 5}),
]


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield at
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in parts:
        yield from places(part, (*at, name))


def changed(value: Any, at: tuple[Any, ...], odd: Any) -> Any:
    if not at:
        return odd
    whole = copy.deepcopy(value)
    inner = whole
    for name in at[:-1]:
        inner = inner[name]
    inner[at[-1]] = odd
    return whole


def read(kind: str, body: bytes) -> Batch:
    page = make_page("a/b", "x", kind, PAGES[kind][0], body, DAY)
    batch = readers.read(page)
    for name, table in TABLES.items():
        if name != "cursors" and (rows := getattr(batch, name)):
            to_arrow(table, rows)  # every value fits its column
    return batch


@given(st.data())
@pytest.mark.parametrize("kind", PAGES)
def test_any_value_in_any_place_is_a_record_or_a_reject(kind: str, data: st.DataObject) -> None:
    whole = PAGES[kind][1]
    at = data.draw(st.sampled_from(list(places(whole))))
    read(kind, json.dumps(changed(whole, at, data.draw(st.sampled_from(ODD)))).encode())


@pytest.mark.parametrize("kind", PAGES)
@pytest.mark.parametrize(
    "body",
    [b"[" * 100_000, b'{"a":' * 100_000, b"[" + b"9" * 5_000 + b"]", b"\xff", b'{"data":', b"NaN", b'"x"', b"5"],
    ids=["lists", "objects", "digits", "bytes", "cut", "NaN", "text", "number"],
)
def test_a_page_that_is_no_usable_json_is_a_reject_with_a_reason(kind: str, body: bytes) -> None:
    batch = read(kind, body)
    assert not batch.items
    assert batch.rejects
    assert all(reject.reason for reject in batch.rejects)


def test_a_part_of_another_form_is_named_and_the_rest_of_the_page_is_read() -> None:
    whole = PAGES["graphql"][1]
    broken = changed(whole, ("data", "repository", "issues", "nodes", 0, "comments", "nodes", 0), {"body": "no id"})
    broken = changed(broken, ("data", "repository", "pullRequests", "nodes", 0, "milestone"), "m")
    batch = read("graphql", json.dumps(broken).encode())
    assert sorted(item.number for item in batch.items) == [7, 8]
    assert len(batch.comments) == 1
    reasons = [reject.reason for reject in batch.rejects]
    assert "repository/issues/nodes/0/comments/nodes/0: no usable object but dict" in reasons
    assert "repository/pullRequests/nodes/0/milestone: no object but 'm'" in reasons


def test_a_part_of_another_form_is_a_gap_and_not_an_end() -> None:
    for odd in ([], 5, {"nodes": 5}, {"nodes": [5]}):
        broken = changed(ANSWER, ("data", "repository", "issues", "nodes", 0, "comments"), odd)
        found = {r.part: r.sound for r in read("graphql.2", json.dumps(broken).encode()).readings if r.number == 7}
        assert not found["comments"], odd


def test_a_good_answer_stays_as_it_is() -> None:
    assert shaped(copy.deepcopy(ANSWER)) == ANSWER


def test_the_last_of_two_equal_keys_counts() -> None:
    body = json.dumps(REST_ISSUE)[:-1].encode() + b', "number": 9}'
    assert [item.number for item in read("rest.items", b"[" + body + b"]").items] == [9]
    assert [item.number for item in read("jsonl.records", body).items] == [9]


def test_a_value_that_is_too_deep_is_refused_and_not_printed() -> None:
    with pytest.raises(BadRecordError, match="nested too deeply"):
        parsed("[" * 100_000)
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert printed(deep) == ""
    while deep:  # freed from the outside in: the interpreter would free it by recursion
        deep = deep[0]
