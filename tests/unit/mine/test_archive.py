"""GH Archive hours: which lines are ours, what an event says, and which files are read."""

from __future__ import annotations

import gzip
import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from support import assert_clean_error, rows, run_embers
from torch_embers.mine import files

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import duckdb

REPO = "pytorch/pytorch"
NOON = "2024-01-23T12:00:00Z"
LATER = "2024-01-23T12:30:00Z"
AT_NOON, AT_LATER = "2024-01-23 12:00:00", "2024-01-23 12:30:00"


def event(kind: str, payload: Mapping[str, Any], **changes: Any) -> dict[str, Any]:
    made = {"id": "77", "type": kind, "actor": {"login": "ann"}, "repo": {"id": 1, "name": REPO}}
    return {**made, "payload": payload, "public": True, "created_at": NOON, **changes}


def issue(number: int = 5, **changes: Any) -> dict[str, Any]:
    made = {"number": number, "title": "T", "body": "B", "state": "open", "user": {"login": "bob"}}
    return {**made, "labels": [{"name": "module: mps"}], "updated_at": NOON, "comments": 3, **changes}


def write_hour(path: Path, *events: Mapping[str, Any] | bytes) -> bytes:
    lines = (
        given if isinstance(given, bytes) else json.dumps(given, separators=(",", ":")).encode() for given in events
    )
    text = b"".join(line + b"\n" for line in lines)
    path.write_bytes(gzip.compress(text))
    return text


@pytest.fixture
def told(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> Any:
    """Stores an hour of events, and answers a query as texts."""

    def tell(what: str, *events: Mapping[str, Any] | bytes) -> list[tuple[Any, ...]]:
        path = tmp_path / "2024-01-23-12.json.gz"
        write_hour(path, *events)
        with files.hour(REPO, path) as reading:
            reading.store(connection)
        found = connection.execute(what).fetchall()
        return [tuple(value if isinstance(value, list | None | int) else str(value) for value in row) for row in found]

    return tell


# --- what an event says ----------------------------------------------------------------------------------


def test_an_issue_event_gives_the_item_as_it_was_then(told: Any, connection: duckdb.DuckDBPyConnection) -> None:
    closed = issue(state="closed", state_reason="not_planned", closed_at=NOON, milestone=None, created_at=NOON)
    query = "SELECT number, kind, title, author, state, state_reason, closed_at, updated_at, labels, comment_count, milestone FROM items"
    assert told(query, event("IssuesEvent", {"action": "closed", "issue": closed})) == [
        (5, "issue", "T", "bob", "closed", "not_planned", AT_NOON, AT_NOON, ["module: mps"], 3, "")
    ]
    happened = "SELECT event_id, type, actor, state_reason, created_at::VARCHAR FROM events"
    assert connection.execute(happened).fetchall() == [("archive:77", "closed", "ann", "not_planned", AT_NOON)]


def test_a_comment_on_a_pull_request_makes_a_pull_and_not_an_issue(
    told: Any, connection: duckdb.DuckDBPyConnection
) -> None:
    comment = {"id": 9, "user": {"login": "eve"}, "body": "hi", "created_at": NOON, "updated_at": LATER}
    merged = issue(pull_request={"merged_at": NOON, "html_url": "x"}, state="closed")
    said = event("IssueCommentEvent", {"action": "created", "issue": merged, "comment": comment})
    assert told("SELECT kind, state_reason, merged_at FROM items", said) == [("pull", "merged", AT_NOON)]
    query = "SELECT comment_id, author, body, updated_at::VARCHAR FROM comments"
    assert connection.execute(query).fetchall() == [("9", "eve", "hi", AT_LATER)]


@pytest.mark.parametrize(
    ("merged", "wanted"), [(True, ("merged", AT_NOON, "abc", "main")), (False, ("", None, None, "main"))]
)
def test_a_full_pull_request_tells_merged_from_closed(told: Any, merged: bool, wanted: tuple[Any, ...]) -> None:
    pull = issue(state="closed", merged=merged, merge_commit_sha="abc", closed_at=NOON, base={"ref": "main"})
    said = event("PullRequestEvent", {"action": "closed", "number": 5, "pull_request": pull})
    assert told("SELECT state_reason, merged_at, merge_sha, base_ref FROM items", said) == [wanted]


@pytest.mark.parametrize(
    ("action", "wanted"), [("closed", ("closed", None, AT_NOON)), ("merged", ("closed", "merged", AT_NOON))]
)
def test_a_thin_pull_request_claims_only_what_its_action_says(told: Any, action: str, wanted: tuple[Any, ...]) -> None:
    thin = {"number": 5, "url": "x", "head": {"ref": "topic"}, "base": {"ref": "main"}}
    said = event("PullRequestEvent", {"action": action, "number": 5, "pull_request": thin})
    assert told("SELECT state, state_reason, closed_at, title, body, labels FROM items", said) == [
        (*wanted, None, None, None)
    ]


def test_labels_renames_and_reopening_become_events(told: Any) -> None:
    found = told(
        "SELECT event_id, type, label, title_from, title_to FROM events ORDER BY event_id",
        event("IssuesEvent", {"action": "labeled", "issue": issue(), "label": {"name": "triaged"}}, id="1"),
        event("IssuesEvent", {"action": "unlabeled", "issue": issue(), "labels": ["a", {"name": "b"}]}, id="2"),
        event("IssuesEvent", {"action": "edited", "issue": issue(), "changes": {"title": {"from": "old"}}}, id="3"),
        event("IssuesEvent", {"action": "edited", "issue": issue(), "changes": {"body": {"from": "old"}}}, id="4"),
        event("IssuesEvent", {"action": "reopened", "issue": issue()}, id="5"),
        event("IssuesEvent", {"action": "opened", "issue": issue()}, id="6"),
        event("IssuesEvent", {"action": "labeled", "issue": issue()}, id="7"),
    )
    assert found == [
        ("archive:1", "labeled", "triaged", None, None),
        ("archive:2", "unlabeled", "a", None, None),
        ("archive:2:1", "unlabeled", "b", None, None),
        ("archive:3", "renamed", None, "old", "T"),
        ("archive:5", "reopened", None, None, None),
    ]


def test_transferred_and_deleted_issues_become_tombstones(told: Any) -> None:
    changes = {"new_issue": {"number": 8}, "new_repository": {"full_name": "pytorch/vision"}}
    moved = event("IssuesEvent", {"action": "transferred", "issue": issue(), "changes": changes}, created_at=LATER)
    gone = event("IssuesEvent", {"action": "deleted", "issue": issue(6)}, created_at=LATER, id="2")
    assert told("SELECT number, deleted_at, transferred_to FROM items ORDER BY number", moved, gone) == [
        (5, AT_LATER, "pytorch/vision#8"),
        (6, AT_LATER, None),
    ]


def test_an_older_event_never_overwrites_a_newer_state(told: Any) -> None:
    new = event("IssuesEvent", {"action": "edited", "issue": issue(title="new", updated_at=LATER)})
    old = event("IssuesEvent", {"action": "opened", "issue": issue(title="old")}, id="2")
    assert told("SELECT title, updated_at FROM items", new, old) == [("new", AT_LATER)]


@pytest.mark.parametrize(
    "raw",
    [
        b'{"id": 1, "type", "pytorch/pytorch"',
        json.dumps(event("IssuesEvent", {})).encode(),
        json.dumps(event("IssuesEvent", {"issue": issue(number=-1)})).encode(),
        json.dumps(event("IssuesEvent", {"issue": {"number": 10**30}})).encode(),
        json.dumps(event("PullRequestEvent", {"pull_request": [1]})).encode(),
    ],
)
def test_a_line_that_cannot_be_used_is_rejected_with_its_place(told: Any, raw: bytes) -> None:
    good = event("IssuesEvent", {"action": "opened", "issue": issue()})
    other = {**good, "payload": {"issue": issue(number=6)}}
    assert told("SELECT origin, line FROM rejects", good, raw, other) == [("2024-01-23-12.json.gz", 2)]


def test_only_our_issue_and_pull_request_events_are_kept(told: Any) -> None:
    mention = issue(body="see pytorch/pytorch", repo={"name": REPO})
    escaped = json.dumps(event("IssuesEvent", {"issue": issue(number=2)})).replace(REPO, "PyTorch\\/PyTorch")
    found = told(
        "SELECT number FROM items ORDER BY number",
        event("PushEvent", {"ref": "x"}),
        event("IssuesEvent", {"issue": issue(number=1)}),
        event("IssuesEvent", {"issue": mention}, repo={"name": "other/pytorch"}),
        event("IssuesEvent", {"issue": mention}, repo={"name": "pytorch/pytorch2"}),
        escaped.encode(),
        event("PullRequestReviewCommentEvent", {"pull_request": issue(number=4), "comment": {"id": 1}}),
        event("WatchEvent", {}),
    )
    assert found == [(1,), (2,), (4,)]


# --- files -----------------------------------------------------------------------------------------------


def hours(folder: Path) -> list[Path]:
    paths = [folder / f"2024-01-23-{hour}.json.gz" for hour in (9, 10, 11)]
    for number, path in enumerate(paths, 1):
        at = f"2024-01-23T{8 + number:02}:30:00Z"
        write_hour(path, event("IssuesEvent", {"issue": issue(number=number)}, id=str(number), created_at=at))
    return paths


def mine(database: Path, *words: object) -> str:
    done = run_embers("mine", "--source", "archive", *words, "--database", database)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[0]


def test_an_hour_is_read_once_and_again_when_it_changes(database: Path, tmp_path: Path) -> None:
    paths = hours(tmp_path)
    assert mine(database, tmp_path / "*.gz", paths[0]).startswith("archive: 3 items")
    assert "nothing new" in mine(database, tmp_path)
    write_hour(paths[1], event("IssuesEvent", {"issue": issue(number=7)}))
    os.utime(paths[1], ns=(0, 1))
    assert mine(database, *paths).startswith("archive: 1 items")
    assert rows(database, "SELECT number FROM items ORDER BY ALL") == [(1,), (2,), (3,), (7,)]
    assert mine(database, tmp_path, "--refresh", "all").startswith("archive: 3 items")


def test_a_window_of_time_leaves_out_hours_and_events_and_hides_nothing_later(database: Path, tmp_path: Path) -> None:
    hours(tmp_path)
    window = ("--since", "2024-01-23T10:00:00Z", "--until", "2024-01-23T11:15:00Z")
    assert mine(database, tmp_path, *window).startswith("archive: 1 items")
    assert rows(database, "SELECT number FROM items") == [(2,)]
    assert mine(database, tmp_path).startswith("archive: 3 items")


def test_a_damaged_hour_and_an_address_are_named_and_the_others_read(database: Path, tmp_path: Path) -> None:
    paths = hours(tmp_path)
    paths[1].write_bytes(paths[1].read_bytes()[:-12])
    (tmp_path / "2024-01-23-12.json.gz").write_bytes(b"")
    words = ("mine", "--source", "archive", tmp_path, "http://user:secret@127.0.0.1:9/2024-01-23-13.json.gz?key=x")
    done = run_embers(*words, "--database", database)
    assert_clean_error(done, 3, "2024-01-23-10.json.gz", "2024-01-23-12.json.gz", "127.0.0.1:9/2024-01-23-13.json.gz")
    assert "secret" not in done.stderr
    assert "key=x" not in done.stderr
    assert rows(database, "SELECT number FROM items ORDER BY ALL") == [(1,), (3,)]


@pytest.mark.parametrize("path", ["none.json.gz", "*.json.gz", "."])
def test_paths_without_a_file_are_refused(database: Path, tmp_path: Path, path: str) -> None:
    done = run_embers("mine", "--source", "archive", tmp_path / path, "--database", database)
    assert_clean_error(done, 3, "matches" if path != "none.json.gz" else "No such file")
