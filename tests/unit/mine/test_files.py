"""Files of records: what people have is understood, and what is not is named."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest

from torch_embers.errors import InputError
from torch_embers.mine import files

if TYPE_CHECKING:
    from pathlib import Path

    import duckdb

REPO = "alice/bugs"
AT = "2024-01-01T00:00:00Z"
REST = {
    "number": 7,
    "title": "T",
    "body": None,
    "user": {"login": "ann"},
    "state": "open",
    "updated_at": AT,
    "labels": [{"name": "x"}],
    "repository_url": f"https://api.github.com/repos/{REPO}",
    "pull_request": {"html_url": None},
}
LISTED = {
    "number": 7,
    "title": "T",
    "body": "",
    "author": {"login": "ann", "is_bot": False},
    "state": "OPEN",
    "createdAt": AT,
    "updatedAt": AT,
    "labels": [{"name": "x", "color": "fff"}],
    "url": f"https://github.com/{REPO}/issues/7",
    "comments": [{"id": "IC_1", "author": {"login": "bob"}, "body": "c", "url": "https://x/y/issues/7#issuecomment-9"}],
}
NODE = LISTED | {
    "__typename": "Issue",
    "labels": {"nodes": [{"name": "x"}]},
    "comments": {"totalCount": 0, "nodes": []},
}
FORMS: dict[str, Any] = {
    "a list": [REST],
    "a list of pages": [[REST], []],
    "a search answer": {"total_count": 1, "items": [REST]},
    "a webhook": {"action": "opened", "issue": REST, "repository": {"full_name": REPO}, "sender": {"login": "ann"}},
    "gh issue list": [LISTED],
    "a list under a name": {"issues": [LISTED]},
    "a GraphQL answer": {"data": {"repository": {"nameWithOwner": REPO, "issues": {"nodes": [NODE]}}}},
    "an event": {
        "id": "1",
        "type": "IssuesEvent",
        "repo": {"name": REPO},
        "payload": {"issue": REST},
        "created_at": AT,
    },
}


def stored(connection: duckdb.DuckDBPyConnection, reading: files.FileReading) -> files.Read:
    with reading:
        return reading.store(connection)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_issue(connection: duckdb.DuckDBPyConnection, tmp_path: Path, form: str) -> None:
    path = tmp_path / "records.json"
    path.write_text(json.dumps(FORMS[form]))
    assert stored(connection, files.records(REPO, path)).items == 1
    query = "SELECT repo, number, kind, title, body, author, state, labels, updated_at::VARCHAR FROM items"
    wanted = (REPO, 7, "issue", "T", "", "ann", "open", ["x"], "2024-01-01 00:00:00")
    assert connection.execute(query).fetchall() == [wanted]
    if form == "gh issue list":
        said = connection.execute("SELECT comment_id, author, body FROM comments").fetchall()
        assert said == [("9", "bob", "c")]


def test_a_listing_without_addresses_is_of_the_repository_that_its_comments_name(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    path = tmp_path / "records.json"
    bare = {name: value for name, value in LISTED.items() if name != "url"}
    told = bare | {
        "comments": [{"id": "IC_1", "body": "c", "url": "https://github.com/acme/widgets/issues/7#issuecomment-9"}]
    }
    path.write_text(json.dumps([told, bare | {"number": 8, "comments": []}]))
    with files.records(REPO, path) as reading:
        assert not reading.names_no_repository
        reading.store(connection)
    assert connection.execute("SELECT DISTINCT repo FROM items").fetchall() == [("acme/widgets",)]
    path.write_text(json.dumps([bare | {"comments": []}]))
    with files.records(REPO, path) as reading:
        assert reading.names_no_repository


def test_what_was_merged_is_a_pull_request_and_a_date_that_cannot_be_is_none(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    path = tmp_path / "pulls.json"
    merged = {"number": 7, "title": "T", "state": "MERGED", "mergedAt": AT, "createdAt": "290000-01-01"}
    path.write_text(json.dumps([merged, {"number": 8, "title": "U", "created_at": "infinity", "user": None}]))
    assert stored(connection, files.records(REPO, path)).items == 2
    found = connection.execute("SELECT kind, created_at FROM items ORDER BY number").fetchall()
    assert found == [("pull", None), ("issue", None)]


def test_a_comment_whose_deletion_was_told_is_gone(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    path = tmp_path / "hooks.jsonl"
    comment = {"id": 9, "body": "c", "user": {"login": "bob"}, "created_at": AT, "updated_at": AT}
    hook = {"issue": REST, "comment": comment, "repository": {"full_name": REPO}}
    path.write_text("\n".join(json.dumps({"action": action} | hook) for action in ("created", "deleted")))
    stored(connection, files.records(REPO, path))
    assert connection.execute("FROM comments").fetchall() == []


def test_a_bad_line_is_named_and_costs_no_other(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl.gz"
    long = json.dumps({"number": 2, "title": "x" * (17 << 20)})
    lines = [
        json.dumps(REST),
        "",
        "{bad",
        long,
        '{"odd": 1}',
        '{"number": 0, "title": "x"}',
        "3",
        '{"number": 8, "title": "z"}',
    ]
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    assert stored(connection, files.records(REPO, path))[:3] == (2, 5, 2)
    reasons = dict(connection.execute("SELECT line, reason FROM rejects").fetchall())
    assert reasons == {
        3: "malformed JSON",
        4: "longer than 16 MiB",
        5: "a record of unknown shape, with the keys odd",
        6: "no usable item number",
        7: "no object but ubigint",
    }


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.json", b'[{"foo": 1, "bar": 2}]', "with the keys bar, foo"),
        ("a.json", b'[{"number": 1, "title": "x"},', "cannot be read to its end"),
        ("a.jsonl.gz", gzip.compress(b'{"number": 1, "title": "x"}\n' * 99, mtime=0)[:-9], "cannot be read to its end"),
        ("a.jsonl.gz", gzip.compress(b'{"title": "' + b"x" * (70 << 20), mtime=0), "unpacks to more than 200 times"),
        (
            "a.jsonl.gz",
            gzip.compress(b'{"title": "' + b"x" * (70 << 20), mtime=0) + gzip.compress(b"\n", mtime=0),
            "unpacks to more than 200 times",
        ),
        ("a.json", b'[{"number": 1, "title": "x"},' + b" " * 99_999, "cannot be read to its end"),
        ("a.json", '[{"number": 1, "title": "x"}]'.encode("utf-16"), "iconv -f UTF-16"),
        ("a.txt", b"", "not one of"),
        ("a.json", b"", "is empty"),
        ("a.jsonl", b"", "is empty"),
    ],
)
def test_a_file_of_unknown_shape_or_without_its_end_is_an_error(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path, name: str, content: bytes, words: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=words):
        files.records(REPO, tmp_path / name)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", gzip.compress(b'[{"number": 1, "title": "x"}]', mtime=0)),
        ("a.json.gz", b'[{"number": 1, "title": "x"}]'),
        ("a.json", b'[{"number": 1, "title": "x"}]' + b"\n" * 99_999),
        ("a.jsonl.gz", b"".join(gzip.compress(part, mtime=0) for part in (b'{"number": 1, ', b'"title": "x"}\n'))),
    ],
)
def test_the_content_of_a_file_tells_how_it_is_read(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path, name: str, content: bytes
) -> None:
    (tmp_path / name).write_bytes(content)
    stored(connection, files.records(REPO, tmp_path / name))
    assert connection.execute("SELECT number, title FROM items").fetchall() == [(1, "x")]


def test_hours_before_2015_tell_of_items_by_number(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    here = {"repository": {"owner": "alice", "name": "bugs"}, "actor": "ann", "type": "IssuesEvent"}
    opened = {"created_at": "2012-04-01T00:05:59-07:00", "payload": {"action": "opened", "issue": 99, "number": 5}}
    closed = {"created_at": "2012/04/02 00:05:59 -0700", "payload": {"action": "closed", "issue": 99, "number": 5}}
    address = {"url": "https://github.com/alice/bugs/issues/6#issuecomment-1", "type": "IssueCommentEvent"}
    said = {"created_at": "2013-04-01T00:00:00Z", "payload": {"issue_id": 98, "comment_id": 1}}
    elsewhere = here | {"repository": {"owner": "bob", "name": "bugs"}} | opened
    path = tmp_path / "2012-04-01-0.json.gz"
    lines = (here | opened, here | closed, here | address | said, elsewhere)
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, lines)).encode()))
    assert stored(connection, files.hour(REPO, path))[:3] == (3, 0, 2)
    query = "SELECT repo, number, kind, state, updated_at::VARCHAR FROM items ORDER BY number"
    assert connection.execute(query).fetchall() == [
        (REPO, 5, "issue", "closed", "2012-04-02 07:05:59"),
        (REPO, 6, None, None, "2013-04-01 00:00:00"),
    ]
