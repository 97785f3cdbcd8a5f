"""GitHub's REST objects as records: whatever comes, an item or a reject, and every stored text can be stored."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch_embers.mine.pages import make_page
from torch_embers.mine.records import rest_records
from torch_embers.mine.records.rest_records import BadRecordError
from torch_embers.store.records import Batch, Comment, Event, Item, Page

from torch_embers.mine import readers
from torch_embers.normalize import iso_utc
from torch_embers.store import tables

REPO = "pytorch/pytorch"
PAGE = make_page(REPO, "rest", "rest.items", "r", b"", "2024-01-23T12:00:00Z")

any_text = st.text(st.characters(codec=None), max_size=12)
scalars = st.none() | st.booleans() | st.integers() | st.integers(-(10**30), 10**30) | st.floats() | any_text
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(any_text, inner, max_size=4),
    max_leaves=10,
)
KNOWN = (
    *("number", "title", "body", "state", "state_reason", "user", "milestone"),
    *("reactions", "labels", "pull_request", "base", "head", "draft", "merged_at"),
    *("merged", "created_at", "updated_at", "closed_at", "comments", "author_association", "repository_url"),
    *("url", "id", "event", "label", "rename", "source", "actor"),
    *("commit_id", "issue_url", "pull_request_url", "sha", "author", "login", "type"),
    *("assignees", "requested_reviewers", "requested_teams", "parent_issue_url", "locked", "active_lock_reason"),
)
plausible = st.one_of(
    anything,
    st.sampled_from(["open", "closed", "labeled", "renamed", "cross-referenced", "2024-01-23T12:00:00Z", 5, True]),
    st.fixed_dictionaries(
        {}, optional=dict.fromkeys(("login", "name", "ref", "title", "total_count", "merged_at"), anything)
    ),
    st.fixed_dictionaries({"issue": st.fixed_dictionaries({}, optional={"number": scalars, "url": scalars})}),
)
objects = st.dictionaries(st.sampled_from(KNOWN), plausible, max_size=12)


def assert_storable(*records: object) -> None:
    """The records become typed columns, as the store needs them."""
    for record in records:
        for field in fields(record):  # type: ignore[arg-type]
            value = getattr(record, field.name)
            for text in value if isinstance(value, tuple) else [value]:
                if isinstance(text, str):
                    text.encode("utf-8")
                    assert "\x00" not in text, field.name
    for table, kind in (("items", Item), ("comments", Comment), ("events", Event)):
        if found := [r for r in records if isinstance(r, kind)]:
            tables.to_arrow(table, found)


# ---- any object -------------------------------------------------------------------------------------------------


@given(objects | anything)
def test_any_value_is_an_item_or_refused(value: object) -> None:
    try:
        found = rest_records.item(value, PAGE)
    except BadRecordError:
        return
    assert found.number >= 1
    assert found.kind in ("issue", "pull")
    assert found.state in (None, "open", "closed")
    assert_storable(found)


@given(objects, st.integers(1, 99))
def test_any_object_with_a_number_is_an_item(value: dict[str, Any], number: int) -> None:
    found = rest_records.item(value | {"number": number}, PAGE)
    assert found.number == number
    assert_storable(found)


@given(objects)
def test_any_object_is_a_comment_or_refused(value: dict[str, Any]) -> None:
    try:
        found = rest_records.comment(value, 5, PAGE)
        rest_records.comment_number(value)
    except BadRecordError:
        return
    assert_storable(found)


@given(objects)
def test_any_object_is_an_event_or_nothing(value: dict[str, Any]) -> None:
    found = rest_records.event(value, 5, PAGE)
    if found is not None:
        assert found.event_id
        assert_storable(found)


KINDS = ("rest.items", "rest.item", "rest.comments", "rest.events", "rest.timeline")


@given(st.sampled_from(KINDS), st.lists(objects | anything, max_size=4) | objects | anything)
def test_any_page_is_read_to_its_end(kind: str, value: object) -> None:
    try:
        body = json.dumps(value).encode()
    except ValueError:
        return
    page = Page("p", REPO, "rest", kind, f"/repos/{REPO}/issues/5/timeline", "2024-01-23T12:00:00Z", body)
    batch = readers.read(page)
    assert isinstance(batch, Batch)
    assert_storable(*batch.items, *batch.comments, *batch.events)
    tables.to_arrow("rejects", batch.rejects) if batch.rejects else None
    if kind == "rest.items" and isinstance(value, list):
        assert len(batch.items) + len(batch.rejects) == len(value)


@pytest.mark.parametrize("depth", [400, 900, 1000, 5000])
def test_a_deeply_nested_value_is_refused_and_not_a_crash(depth: int) -> None:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    with pytest.raises(BadRecordError):
        rest_records.item({"number": value}, PAGE)
    with pytest.raises(BadRecordError):
        rest_records.comment_number({"issue_url": value})
    assert rest_records.event({"event": value}, 5, PAGE) is None


# ---- rules of fields --------------------------------------------------------------------------------------------


def item(**values: Any) -> Item:
    return rest_records.item({"number": 5, **values}, PAGE)


@pytest.mark.parametrize("number", [0, -1, None, "5", 5.0, True, 2**31, 10**30, [5], {}])
def test_a_number_must_be_a_positive_whole_number(number: object) -> None:
    with pytest.raises(BadRecordError, match="number"):
        rest_records.item({"number": number}, PAGE)


@pytest.mark.parametrize("value", [None, [], "text", 5, True, 1.5])
def test_what_is_no_object_is_refused(value: object) -> None:
    with pytest.raises(BadRecordError, match="not an object"):
        rest_records.item(value, PAGE)


def test_a_missing_field_is_unknown_and_a_null_body_is_empty() -> None:
    assert item().body is None
    assert item(body=None).body == ""
    assert item().labels is None
    assert item(labels=[]).labels == ()
    assert item().state is None


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"state": "closed", "state_reason": "not_planned"}, "not_planned"),
        ({"state": "closed", "state_reason": None}, ""),
        ({"state": "closed"}, None),
        ({"state": "open", "state_reason": None}, None),
        ({"state": "open", "state_reason": "reopened"}, "reopened"),
        ({"state": "closed", "pull_request": {"merged_at": "2024-01-01T00:00:00Z"}}, "merged"),
        ({"state": "closed", "pull_request": {"merged_at": None}, "state_reason": None}, ""),
        ({"state": "closed", "base": {}, "head": {}, "merged": True}, "merged"),
        ({"state": "closed", "base": {}, "head": {}, "merged": "true"}, None),
        ({"state": "closed", "merged": True}, None),
    ],
)
def test_the_reason_of_a_closing(values: dict[str, Any], reason: str | None) -> None:
    assert item(**values).state_reason == reason


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ({}, "issue"),
        ({"pull_request": None}, "issue"),
        ({"pull_request": {}}, "pull"),
        ({"pull_request": "odd"}, "pull"),
        ({"base": {}, "head": {}}, "pull"),
        ({"base": {}}, "issue"),
    ],
)
def test_an_item_is_a_pull_request_if_it_has_what_only_those_have(values: dict[str, Any], kind: str) -> None:
    assert item(**values).kind == kind


def test_labels_are_sorted_without_repeats_from_objects_and_texts() -> None:
    assert item(labels=[{"name": "b"}, "a", {"name": "a"}, {"name": None}, 5, None, {}]).labels == ("a", "b")


def test_fields_of_a_pull_request_are_kept() -> None:
    found = item(
        base={"ref": "main"},
        head={"ref": "fix"},
        merged_at="2024-01-01T00:00:00+02:00",
        merge_commit_sha="abc",
        draft=False,
        milestone={"title": "2.3"},
        reactions={"total_count": 7},
        user={"login": "ann"},
        comments=3,
    )
    assert (found.base_ref, found.head_ref, found.merge_sha, found.is_draft) == ("main", "fix", "abc", False)
    assert (found.merged_at, found.milestone, found.reaction_count) == ("2023-12-31T22:00:00Z", "2.3", 7)
    assert (found.author, found.comment_count) == ("ann", 3)


def test_the_test_merge_of_an_unmerged_pull_request_is_no_merge_commit() -> None:
    assert item(base={}, head={}, merge_commit_sha="abc", merged_at=None).merge_sha is None


@pytest.mark.parametrize("user", [None, "ann", {}, {"login": None}, {"login": 5}, []])
def test_a_user_that_is_gone_or_odd_is_nobody(user: object) -> None:
    assert item(user=user).author == ("" if user is None else None)


@pytest.mark.parametrize(
    ("values", "repo"),
    [
        ({"repository_url": "https://api.github.com/repos/a/b"}, "a/b"),
        ({"url": "https://api.github.com/repos/c/d/issues/5"}, "c/d"),
        ({"repository_url": "https://api.github.com/repos/a/b", "url": "https://x/repos/c/d/issues/5"}, "a/b"),
        ({"url": "https://github.com/a/b/issues/5"}, REPO),
        ({"url": "https://x/repos/a"}, REPO),
        ({"url": "https://x/repos//b"}, REPO),
        ({"url": 5}, REPO),
        ({}, REPO),
    ],
)
def test_the_repository_is_read_from_the_objects_addresses(values: dict[str, Any], repo: str) -> None:
    assert item(**values).repo == repo


def test_unstorable_text_is_replaced_in_every_field() -> None:
    bad = "a\x00b\ud800c"
    found = item(title=bad, body=bad, user={"login": bad}, labels=[bad], milestone={"title": bad}, state_reason=bad)
    good = "a\ufffdb\ufffdc"
    assert (found.title, found.body, found.author, found.labels) == (good, good, good, (good,))
    assert (found.milestone, found.state_reason) == (good, good)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("2024-01-23T10:00:00Z", "2024-01-23T10:00:00Z"),
        ("2024-01-23T10:00:00", "2024-01-23T10:00:00Z"),
        ("2024-01-23", "2024-01-23T00:00:00Z"),
        ("2024-01-23T10:00:00+05:30", "2024-01-23T04:30:00Z"),
        ("2024-01-23 10:00:00 ", "2024-01-23T10:00:00Z"),
        ("2024-01-23T10:00:00.5Z", "2024-01-23T10:00:00.500000Z"),
        ("0001-01-01T00:00:00+05:00", None),
        ("2024-02-30", None),
        ("now", None),
        ("", None),
        (None, None),
        (1_700_000_000, None),
    ],
)
def test_times_become_utc(text: object, found: str | None) -> None:
    assert iso_utc(text) == found


@given(any_text | st.datetimes().map(str) | st.datetimes(timezones=st.timezones()).map(str))
def test_a_time_is_stable_once_it_is_utc(text: str) -> None:
    found = iso_utc(text)
    assert found is None or (iso_utc(found) == found and found.endswith("Z") and found.isascii())


def test_a_comment_without_an_identity_or_address_is_refused() -> None:
    with pytest.raises(BadRecordError, match="without an id"):
        rest_records.comment({"body": "x"}, 5, PAGE)
    for address in (
        None,
        "",
        "https://x/issues/",
        "https://x/issues/abc",
        "https://x/issues/-5",
        "https://x/issues/٣",
        5.5,
    ):
        with pytest.raises(BadRecordError, match="address"):
            rest_records.comment_number({"issue_url": address})
    assert rest_records.comment_number({"issue_url": "https://x/repos/o/r/issues/77"}) == 77


def test_a_cross_reference_names_the_other_item() -> None:
    source = {"issue": {"number": 9, "repository_url": "https://api.github.com/repos/a/b"}}
    found = rest_records.event({"event": "cross-referenced", "source": source, "created_at": "2024-01-01"}, 5, PAGE)
    assert found is not None
    assert (found.type, found.other_repo, found.other_number) == ("cross_referenced", "a/b", 9)


def test_cross_references_without_an_identity_stay_apart() -> None:
    def other(number: int) -> Event | None:
        source = {"issue": {"number": number}}
        return rest_records.event({"event": "cross-referenced", "source": source, "created_at": "2024-01-01"}, 5, PAGE)

    first, second = other(9), other(10)
    assert first is not None
    assert second is not None
    assert first.event_id != second.event_id


@pytest.mark.parametrize("kind", ["subscribed", "assigned", "committed", None, 5])
def test_events_that_say_nothing_of_a_bugs_life_are_left_out(kind: object) -> None:
    assert rest_records.event({"id": 1, "event": kind}, 5, PAGE) is None


def test_rejects_of_a_page_name_the_place_and_keep_the_start_of_the_record() -> None:
    body = json.dumps([{"number": 1}, {"title": "x" * 5000}, "odd"]).encode()
    batch = readers.rest_items(make_page(REPO, "rest", "rest.items", "items", body))
    assert [i.number for i in batch.items] == [1]
    assert [(r.line, r.origin) for r in batch.rejects] == [(2, "items"), (3, "items")]
    assert all(0 < len(r.raw) <= 2000 for r in batch.rejects)


def test_a_tombstone_of_an_unknown_item_is_a_reject_and_of_a_known_one_marks_it() -> None:
    def gone(**note: object) -> Batch:
        body = json.dumps({"number": 5, "known": True, "transferred_to": None} | note).encode()
        return readers.tombstone(make_page(REPO, "rest", "github.tombstone", "item 5", body, "2024-01-23T12:00:00Z"))

    assert gone(known=False).items == []
    assert len(gone(known=False).rejects) == 1
    [found] = gone(transferred_to="https://api.github.com/repos/a/b/issues/7").items
    assert (found.deleted_at, found.transferred_to) == ("2024-01-23T12:00:00Z", "a/b#7")


def page_of(kind: str, *objects: dict[str, Any], request: str = "r") -> Batch:
    return readers.read(make_page(REPO, "rest", kind, request, json.dumps(objects).encode(), "2024-01-23T12:00:00Z"))


PERSON = {"login": "ann", "id": 7, "type": "User"}


def test_an_item_brings_people_reactions_its_parent_and_what_is_complete_of_it() -> None:
    obj = {
        "number": 5,
        "user": PERSON,
        "author_association": "MEMBER",
        "assignees": [PERSON],
        "requested_reviewers": [{"login": "bob", "id": 8, "type": "User"}],
        "requested_teams": [{"slug": "core"}],
        "reactions": {"total_count": 3, "+1": 2, "rocket": 1},
        "parent_issue_url": "https://api.github.com/repos/pytorch/vision/issues/9",
        "milestone": {"title": "2.1", "number": 4, "due_on": "2024-02-01T08:00:00Z"},
        "locked": True,
        "active_lock_reason": "too heated",
        "type": {"name": "Bug"},
        "closed_by": PERSON,
    }
    batch = page_of("rest.items", obj)
    (found,) = batch.items
    assert (found.milestone_number, found.milestone_due_at) == (4, "2024-02-01T08:00:00Z")
    assert (found.locked, found.lock_reason, found.issue_type, found.closed_by) == (True, "too_heated", "Bug", "ann")
    assert [(p.role, p.login) for p in batch.item_people] == [
        ("assignee", "ann"),
        ("reviewer", "bob"),
        ("reviewer", "pytorch/core"),
    ]
    (given_to,) = batch.reactions
    assert (given_to.subject, given_to.thumbs_up, given_to.rocket, given_to.eyes) == ("item", 2, 1, 0)
    (parent,) = batch.stated_links
    assert (parent.relation, parent.target_repo, parent.target_number) == ("sub_issue_of", "pytorch/vision", 9)
    assert {reading.part for reading in batch.readings} == {"assignees", "reviewers", "reactions", "parent"}
    assert {(u.login, u.user_id, u.type, u.association) for u in batch.users} == {
        ("ann", 7, "User", "MEMBER"),
        ("bob", 8, "User", None),
    }


def test_a_bare_item_states_nothing_of_people_and_reactions() -> None:
    batch = page_of("rest.items", {"number": 5})
    parts = (batch.item_people, batch.reactions, batch.stated_links, batch.readings, batch.users)
    assert [part for part in parts if part] == []


def test_a_timeline_brings_reviews_and_commits() -> None:
    batch = page_of(
        "rest.timeline",
        {
            "event": "reviewed",
            "id": 3,
            "user": PERSON,
            "state": "approved",
            "body": "ok",
            "submitted_at": "2024-01-01T00:00:00Z",
        },
        {"event": "committed", "sha": "abc", "author": {"name": "Ann", "date": "2024-01-01T00:00:00Z"}, "message": "m"},
        {"event": "commented", "id": 4, "user": PERSON, "body": "hi", "reactions": {"+1": 1}},
        request="/repos/pytorch/pytorch/issues/5/timeline",
    )
    assert [(r.number, r.review_id, r.state, r.body) for r in batch.reviews] == [(5, "3", "approved", "ok")]
    assert [(c.number, c.sha, c.author, c.message) for c in batch.pull_commits] == [(5, "abc", "Ann", "m")]
    assert [(r.subject, r.subject_id, r.thumbs_up) for r in batch.reactions] == [("comment", "4", 1)]


def test_a_comment_on_a_line_names_its_pull_request_by_address() -> None:
    good = {
        "id": 4,
        "pull_request_url": "https://api.github.com/repos/pytorch/pytorch/pulls/5",
        "path": "a.py",
        "user": PERSON,
    }
    batch = page_of("rest.review_comments", good, {"id": 4, "pull_request_url": "x"})
    assert [(c.number, c.comment_id, c.path, c.author) for c in batch.review_comments] == [(5, "4", "a.py", "ann")]
    assert [r.reason for r in batch.rejects] == ["a review comment without a usable pull request: 'x'"]
