"""GH Archive hours: which lines are ours, what an event says, and what damage costs."""

from __future__ import annotations

import gzip
import json
import os
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch_embers.mine.files.archive import ArchiveSource, Sieve, blocks_of_lines, read_archive, unpack
from torch_embers.mine.files.archive_events import PAGE_KIND
from torch_embers.mine.pages import make_page
from torch_embers.store.records import Batch

from torch_embers.errors import InputError, SourceError
from torch_embers.mine.files import archive

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

REPO = "pytorch/pytorch"
NOON = "2024-01-23T12:00:00Z"
LATER = "2024-01-23T12:30:00Z"


def event(kind: str, payload: Mapping[str, Any], **changes: Any) -> dict[str, Any]:
    base = {"id": "77", "type": kind, "actor": {"login": "ann"}, "repo": {"id": 1, "name": REPO}}
    return {**base, "payload": payload, "public": True, "created_at": NOON, **changes}


def issue(number: int = 5, **changes: Any) -> dict[str, Any]:
    base = {"number": number, "title": "T", "body": "B", "state": "open", "user": {"login": "bob"}}
    return {**base, "labels": [{"name": "module: mps"}], "updated_at": NOON, "comments": 3, **changes}


def line(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, separators=(",", ":")).encode()


def read(*events: Mapping[str, Any] | bytes) -> Batch:
    """The records of one page of these lines."""
    raws = [given if isinstance(given, bytes) else line(given) for given in events]
    body = b"".join(b"%d\t%b\n" % (number, raw) for number, raw in enumerate(raws, 1))
    return read_archive(make_page(REPO, "archive", PAGE_KIND, "hour", body))


def write_hour(path: Path, *events: Mapping[str, Any] | bytes) -> bytes:
    text = b"".join((given if isinstance(given, bytes) else line(given)) + b"\n" for given in events)
    path.write_bytes(gzip.compress(text))
    return text


def mine(paths: list[str], state: dict[str, str] | None = None, **window: str) -> tuple[Batch, dict[str, str]]:
    """Everything of one run, and the cursors after it; each page must read back to the same records."""
    total, cursors = Batch(), dict(state or {})
    for batch in ArchiveSource(REPO, paths, **window).batches(cursors):
        assert len(batch.pages) <= 1
        for page in batch.pages:
            again = read_archive(page)
            assert (again.items, again.events, again.comments, again.rejects) == (
                batch.items,
                batch.events,
                batch.comments,
                batch.rejects,
            )
        cursors.update({cursor.stream: cursor.cursor for cursor in batch.cursors})
        total.extend(batch)
    return total, cursors


# --- files -----------------------------------------------------------------------------------------------


def hours(folder: Path, count: int = 3) -> list[Path]:
    paths = [folder / f"2024-01-23-{hour}.json.gz" for hour in (9, 10, 11)[:count]]
    for number, path in enumerate(paths, 1):
        write_hour(path, event("IssuesEvent", {"issue": issue(number=number)}, id=str(number)))
    return paths


# --- what an event says ----------------------------------------------------------------------------------


def test_an_issue_event_gives_the_item_as_it_was_then() -> None:
    closed = issue(state="closed", state_reason="not_planned", closed_at=NOON, milestone=None, created_at=NOON)
    batch = read(event("IssuesEvent", {"action": "closed", "issue": closed}))
    (item,), (happened,) = batch.items, batch.events
    assert (item.number, item.kind, item.title, item.body, item.author) == (5, "issue", "T", "B", "bob")
    assert (item.state, item.state_reason, item.closed_at, item.updated_at) == ("closed", "not_planned", NOON, NOON)
    assert (item.labels, item.comment_count, item.milestone) == (("module: mps",), 3, "")
    assert (happened.event_id, happened.type, happened.actor) == ("archive:77", "closed", "ann")
    assert (happened.state_reason, happened.created_at) == ("not_planned", NOON)


def test_a_comment_on_a_pull_request_makes_a_pull_and_not_an_issue() -> None:
    comment = {"id": 9, "user": {"login": "eve"}, "body": "hi", "created_at": NOON, "updated_at": LATER}
    merged = issue(pull_request={"merged_at": NOON}, state="closed")
    batch = read(event("IssueCommentEvent", {"action": "created", "issue": merged, "comment": comment}))
    (item,), (said,) = batch.items, batch.comments
    assert (item.kind, item.state_reason, item.merged_at) == ("pull", "merged", NOON)
    assert (said.comment_id, said.author, said.body, said.updated_at) == ("9", "eve", "hi", LATER)


def test_reviews_and_their_comments_are_kept() -> None:
    thin = {"number": 5, "url": "x", "head": {"ref": "topic", "sha": "abc"}, "base": {"ref": "main"}}
    review = {
        "id": 7,
        "user": {"login": "eve"},
        "body": None,
        "state": "changes_requested",
        "submitted_at": NOON,
        "commit_id": "abc",
    }
    batch = read(event("PullRequestReviewEvent", {"action": "created", "review": review, "pull_request": thin}))
    (item,), (made,) = batch.items, batch.reviews
    assert (item.number, item.kind, item.head_sha, item.state, item.updated_at) == (5, "pull", "abc", None, NOON)
    assert (made.number, made.review_id, made.author, made.state, made.body) == (5, "7", "eve", "changes_requested", "")
    assert (made.submitted_at, made.updated_at, made.commit_sha) == (NOON, NOON, "abc")
    comment = {
        "id": 8,
        "pull_request_review_id": 7,
        "in_reply_to_id": 6,
        "user": {"login": "bob"},
        "path": "a.py",
        "line": 3,
        "original_line": 2,
        "original_commit_id": "abc",
        "body": "why?",
        "created_at": NOON,
        "updated_at": LATER,
    }
    batch = read(
        event("PullRequestReviewCommentEvent", {"action": "created", "comment": comment, "pull_request": thin})
    )
    (said,) = batch.review_comments
    assert (said.comment_id, said.review_id, said.reply_to, said.author, said.body) == ("8", "7", "6", "bob", "why?")
    assert (said.path, said.line, said.original_line, said.updated_at) == ("a.py", 3, 2, LATER)
    assert batch.comments == []
    gone = read(event("PullRequestReviewCommentEvent", {"action": "deleted", "comment": comment, "pull_request": thin}))
    assert gone.review_comments == []


def test_a_full_pull_request_tells_merged_from_closed() -> None:
    pull = issue(state="closed", merged=True, merge_commit_sha="abc", closed_at=NOON, base={"ref": "main"})
    (item,) = read(event("PullRequestEvent", {"action": "closed", "number": 5, "pull_request": pull})).items
    assert (item.kind, item.state_reason, item.merged_at, item.merge_sha) == ("pull", "merged", NOON, "abc")
    pull |= {"merged": False}
    (item,) = read(event("PullRequestEvent", {"action": "closed", "number": 5, "pull_request": pull})).items
    assert (item.state_reason, item.merged_at, item.merge_sha, item.base_ref) == ("", None, None, "main")


def test_a_thin_pull_request_claims_only_what_its_action_says() -> None:
    thin = {"number": 5, "url": "x", "head": {"ref": "topic"}, "base": {"ref": "main"}}
    (item,) = read(event("PullRequestEvent", {"action": "closed", "number": 5, "pull_request": thin})).items
    assert (item.state, item.closed_at, item.updated_at, item.head_ref) == ("closed", NOON, NOON, "topic")
    unknown = (item.title, item.body, item.author, item.labels, item.state_reason, item.merged_at, item.is_draft)
    assert set(unknown) == {None}
    (item,) = read(event("PullRequestEvent", {"action": "merged", "number": 5, "pull_request": thin})).items
    assert (item.state, item.state_reason, item.merged_at) == ("closed", "merged", NOON)
    (item,) = read(event("PullRequestEvent", {"action": "labeled", "number": 5})).items
    assert (item.state, item.number) == (None, 5)


def test_labels_renames_and_reopening_become_events() -> None:
    batch = read(
        event("IssuesEvent", {"action": "labeled", "issue": issue(), "label": {"name": "triaged"}}, id="1"),
        event("IssuesEvent", {"action": "unlabeled", "issue": issue(), "labels": ["a", {"name": "b"}]}, id="2"),
        event("IssuesEvent", {"action": "edited", "issue": issue(), "changes": {"title": {"from": "old"}}}, id="3"),
        event("IssuesEvent", {"action": "edited", "issue": issue(), "changes": {"body": {"from": "old"}}}, id="4"),
        event("IssuesEvent", {"action": "reopened", "issue": issue()}, id="5"),
        event("IssuesEvent", {"action": "opened", "issue": issue()}, id="6"),
        event("IssuesEvent", {"action": "labeled", "issue": issue()}, id="7"),
    )
    seen = [(e.event_id, e.type, e.label, e.title_from, e.title_to) for e in batch.events]
    assert seen == [
        ("archive:1", "labeled", "triaged", None, None),
        ("archive:2", "unlabeled", "a", None, None),
        ("archive:2:1", "unlabeled", "b", None, None),
        ("archive:3", "renamed", None, "old", "T"),
        ("archive:5", "reopened", None, None, None),
    ]
    assert len(batch.items) == 1


def test_transferred_and_deleted_issues_become_tombstones() -> None:
    changes = {"new_issue": {"number": 8}, "new_repository": {"full_name": "pytorch/vision"}}
    batch = read(
        event("IssuesEvent", {"action": "transferred", "issue": issue(), "changes": changes}, created_at=LATER)
    )
    assert (batch.items[0].deleted_at, batch.items[0].transferred_to) == (LATER, "pytorch/vision#8")
    assert (batch.events[0].other_repo, batch.events[0].other_number) == ("pytorch/vision", 8)
    batch = read(event("IssuesEvent", {"action": "deleted", "issue": issue()}, created_at=LATER))
    assert (batch.items[0].deleted_at, batch.items[0].transferred_to) == (LATER, None)


def test_text_that_no_database_can_hold_is_cleaned() -> None:
    raw = line(event("IssuesEvent", {"action": "opened", "issue": issue(title="XX", body="a\0b")}))
    batch = read(raw.replace(b"XX", b"\\ud800"), raw.replace(b"XX", b"\xff").replace(b'"number":5', b'"number":6'))
    assert [item.title for item in batch.items] == ["\ufffd", "\ufffd"]
    assert {item.body for item in batch.items} == {"a\ufffdb"}
    assert not batch.rejects


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b'{"id": 1, "type"', "malformed JSON"),
        (b"[" * 100_000, "malformed JSON"),
        (b"[1]", "not a JSON object"),
        (line(event("IssuesEvent", {})), "issue without a number"),
        (line(event("IssuesEvent", {"issue": issue(number=-1)})), "issue without a number"),
        (line(event("IssuesEvent", {"issue": {"number": 10**30}})), "issue without a number"),
        (line(event("IssuesEvent", {"issue": {"number": True}})), "issue without a number"),
        (line(event("IssueCommentEvent", {"issue": issue()})), "comment without an id"),
        (line(event("PullRequestEvent", {"pull_request": [1]})), "pull request without a number"),
        (line({"type": "IssuesEvent", "payload": 3}), "event without a payload"),
    ],
)
def test_a_line_that_cannot_be_used_is_rejected_with_its_place(raw: bytes, reason: str) -> None:
    good = event("IssuesEvent", {"action": "opened", "issue": issue()})
    batch = read(good, raw, {**good, "payload": {"issue": issue(number=6)}})
    (reject,) = batch.rejects
    assert (reject.origin, reject.line) == ("hour", 2)
    assert reason in reject.reason
    assert raw.decode().startswith(reject.raw)
    assert len(batch.items) >= 2


@given(st.binary(max_size=200))
def test_a_page_of_any_bytes_is_read_without_an_exception(body: bytes) -> None:
    batch = read_archive(make_page(REPO, "archive", PAGE_KIND, "hour", body))
    assert len(batch.rejects) == sum(bool(part) for part in body.split(b"\n"))


# --- which lines are ours --------------------------------------------------------------------------------


def test_only_our_issue_and_pull_request_events_are_kept(tmp_path: Path) -> None:
    mention = issue(body="see pytorch/pytorch", repo={"name": REPO})
    write_hour(
        tmp_path / "2024-01-23-12.json.gz",
        event("PushEvent", {"ref": "x"}),
        event("IssuesEvent", {"issue": issue(number=1)}),
        event("IssuesEvent", {"issue": mention}, repo={"name": "other/pytorch"}),
        event("IssuesEvent", {"issue": mention}, repo={"name": "pytorch/pytorch2"}),
        line(event("IssuesEvent", {"issue": issue(number=2)})).replace(b"pytorch/pytorch", b"PyTorch\\/PyTorch"),
        json.dumps(event("IssuesEvent", {"issue": issue(number=3)}), indent=None).encode(),
        event("PullRequestReviewCommentEvent", {"pull_request": issue(number=4), "comment": {"id": 1}}),
        event("WatchEvent", {}),
    )
    batch, _ = mine([str(tmp_path)])
    assert [item.number for item in batch.items] == [1, 2, 3, 4]
    assert [comment.number for comment in batch.review_comments] == [4]
    assert not batch.rejects


_TEXT = st.sampled_from(["pytorch/pytorch", "x/pytorch", "pytorch/vision", 'a"', "\\", "\u00e9"])
_SIEVED = st.one_of(
    st.builds(lambda name, title: line({"repo": {"name": name}, "title": title}), _TEXT, _TEXT),
    st.just(b""),
    st.just(b'{"repo":{"name":"pytorch/pytorch"},"cut'),
    st.just(b'{"repo":{"name":"x/y"},"cut'),
    st.just(b'{"id":"3'),
)


@given(st.lists(_SIEVED, max_size=12), st.integers(1, 40), st.booleans())
def test_the_sieve_finds_what_looking_at_every_line_finds(lines: list[bytes], step: int, last: bool) -> None:
    text = b"\n".join(lines) + (b"\n" if last else b"")
    chunks = [text[start : start + step] for start in range(0, len(text), step)]
    found = dict(Sieve.of("PyTorch/pytorch").lines(blocks_of_lines(chunks)))
    for number, raw in enumerate(text.split(b"\n"), 1):
        whole = raw.endswith(b"}")
        ours = b'"pytorch/pytorch"' in raw if whole else bool(raw) and b"x/y" not in raw
        assert (found.get(number) == raw) == ours


def test_a_line_without_an_end_is_rejected_and_not_held_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "LONGEST_RECORD", 5_000)
    long = [b'{"a":"'] + [b"x" * 1_000] * 20 + [b'"}\n{"b":1}\n{"c":', b"2}"]
    blocks = list(blocks_of_lines(long))
    assert max(map(len, blocks)) < 6_100
    assert b"".join(blocks[1:]) == b'{"b":1}\n{"c":2}\n'
    assert [number for number, _ in Sieve.of(REPO).lines(blocks)] == [1]


def test_files_folders_and_globs_are_read_in_order_of_time_and_once(tmp_path: Path) -> None:
    paths = hours(tmp_path)
    for given_paths in ([str(tmp_path)], [str(tmp_path / "*.gz"), str(paths[0])], [str(path) for path in paths]):
        batch, _ = mine(given_paths)
        assert [item.number for item in batch.items] == [1, 2, 3]


def test_plain_json_lines_are_read_too(tmp_path: Path) -> None:
    text = write_hour(tmp_path / "x", event("IssuesEvent", {"issue": issue()}))
    (tmp_path / "hour.json").write_bytes(b"\xef\xbb\xbf" + text.replace(b"\n", b"\r\n"))
    batch, _ = mine([str(tmp_path / "hour.json")])
    assert len(batch.items) == 1
    assert not batch.rejects


def test_gzip_of_several_members_with_padding_is_read_to_its_end(tmp_path: Path) -> None:
    parts = [line(event("IssuesEvent", {"issue": issue(number=number)})) + b"\n" for number in (1, 2)]
    padding = b"\0" * 600_000
    (tmp_path / "a.json.gz").write_bytes(b"".join(gzip.compress(part) + padding for part in parts))
    assert [item.number for item in mine([str(tmp_path / "a.json.gz")])[0].items] == [1, 2]


def test_a_second_run_with_nothing_new_reads_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = hours(tmp_path)
    _, state = mine([str(tmp_path)])
    with monkeypatch.context() as patch:
        patch.setattr(archive, "_raw_chunks", lambda _: pytest.fail("a known file was read"))
        assert mine([str(tmp_path)], state) == (Batch(), state)
    write_hour(paths[1], event("IssuesEvent", {"issue": issue(number=7)}))
    os.utime(paths[1], ns=(0, 1))
    assert [item.number for item in mine([str(tmp_path)], state)[0].items] == [7]


def test_an_interrupted_run_goes_on_with_the_next_file(tmp_path: Path) -> None:
    hours(tmp_path)
    first = next(ArchiveSource(REPO, [str(tmp_path)]).batches({}))
    rest, _ = mine([str(tmp_path)], {cursor.stream: cursor.cursor for cursor in first.cursors})
    assert [item.number for item in rest.items] == [2, 3]


def test_a_file_of_many_events_takes_several_pages_and_one_cursor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "EVENTS_PER_PAGE", 2)
    write_hour(tmp_path / "a.json.gz", *(event("IssuesEvent", {"issue": issue(number=n)}) for n in range(1, 6)))
    batches = list(ArchiveSource(REPO, [str(tmp_path)]).batches({}))
    assert [len(batch.items) for batch in batches] == [2, 2, 1]
    assert [len(batch.cursors) for batch in batches] == [0, 0, 1]


def test_quiet_files_move_the_cursor_together(tmp_path: Path) -> None:
    for hour in range(10):
        write_hour(tmp_path / f"2024-01-01-{hour}.json.gz", event("PushEvent", {}))
    batches = list(ArchiveSource(REPO, [str(tmp_path)]).batches({}))
    assert [len(json.loads(batch.cursors[0].cursor)["files"]) for batch in batches] == [8, 10]


def test_a_window_of_time_skips_hours_and_events_outside_and_keeps_its_own_cursor(tmp_path: Path) -> None:
    hours(tmp_path)
    write_hour(
        tmp_path / "2024-01-23-12.json.gz",
        event("IssuesEvent", {"issue": issue(number=8)}),
        event("IssuesEvent", {"issue": issue(number=9)}, created_at=LATER),
    )
    batch, state = mine([str(tmp_path)], since="2024-01-23T12:00:00Z", until=LATER)
    assert [item.number for item in batch.items] == [8]
    assert len(mine([str(tmp_path)], state)[0].items) == 5


def test_flipped_bytes_in_a_file_are_damage_and_not_silence(tmp_path: Path) -> None:
    (path,) = hours(tmp_path, 1)
    content = bytearray(path.read_bytes())
    content[-6] ^= 0xFF
    path.write_bytes(bytes(content))
    with pytest.raises(InputError, match="damaged gzip"):
        mine([str(path)])


def test_an_empty_file_is_an_incomplete_download(tmp_path: Path) -> None:
    (tmp_path / "a.json.gz").touch()
    with pytest.raises(InputError, match=r"a\.json\.gz: the file is empty"):
        mine([str(tmp_path)])


@pytest.mark.parametrize("content", [b"<html>not found</html>", b"PK\x03\x04"])
def test_a_file_that_is_no_archive_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.json.gz").write_bytes(content)
    with pytest.raises(InputError, match=r"a\.json\.gz: neither gzip nor JSON lines"):
        mine([str(tmp_path)])


@pytest.mark.parametrize("name", ["none.json.gz", "*.json.gz", "[", ""])
def test_paths_without_a_file_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError):
        mine([str(tmp_path / name)])


def test_a_broken_line_is_rejected_with_file_and_line_and_the_rest_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "2024-01-23-9.json.gz"
    write_hour(
        path,
        event("PushEvent", {}, repo={"name": "a/b"}),
        line(event("IssuesEvent", {"issue": issue(number=1)}))[:-30],
        event("IssuesEvent", {"issue": issue(number=2)}),
        line(event("IssuesEvent", {"issue": issue()}, repo={"name": "a/b"}))[:-30],
        b'{"type":"IssuesEvent","repo":{"name":"pytorch/pytorch"},"payload":{,}}',
    )
    batch, _ = mine([str(path)])
    assert [item.number for item in batch.items] == [2]
    assert [(reject.origin, reject.line) for reject in batch.rejects] == [(str(path), 2), (str(path), 5)]


@given(st.binary(max_size=300))
def test_any_bytes_unpack_or_are_damaged(content: bytes) -> None:
    for raw in (content, gzip.compress(content), gzip.compress(content)[:-1] + content):
        try:
            unpacked = b"".join(unpack([raw[:7], raw[7:]]))
        except archive.DamagedFileError:
            continue
        assert unpacked in (content, raw)


# --- addresses -------------------------------------------------------------------------------------------


def test_an_address_is_read_through_duckdb_and_its_secrets_are_not_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = "https://user:secret@example.org/2024-01-23-9.json.gz?token=secret"
    write_hour(tmp_path / "x.gz", event("IssuesEvent", {"issue": issue()}))

    def rows(columns: str, asked: str) -> list[tuple[Any, ...]]:
        assert asked == address
        content = (tmp_path / "x.gz").read_bytes()
        return [(content,)] if columns == "content" else [(address, len(content), None)]

    monkeypatch.setattr(archive, "_remote_rows", rows)
    batch, state = mine([address])
    assert len(batch.items) == 1
    assert batch.pages[0].request == "https://example.org/2024-01-23-9.json.gz"
    assert "secret" not in str(state)
    assert not mine([address], state)[0]


def test_an_address_that_duckdb_cannot_read_gives_one_line_with_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    class Unreachable:
        def __enter__(self) -> Unreachable:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def execute(self, *_: object) -> None:
            raise duckdb.IOException("Failed to download extension httpfs\nfor https://h.example/a?token=secret\nmore")

    monkeypatch.setattr("torch_embers.mine.files.archive.duckdb.connect", Unreachable)
    with pytest.raises(SourceError, match=r"https://h\.example/a.*download the file") as raised:
        mine(["https://h.example/a?token=secret"])
    assert "\n" not in str(raised.value)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("part", ["filename", "content"])
def test_an_hour_that_is_missing_does_not_stop_the_others_and_is_named_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    good, missing = (f"https://example.org/2024-01-23-{hour}.json.gz" for hour in (10, 9))
    write_hour(tmp_path / "x.gz", event("IssuesEvent", {"issue": issue()}))
    content = (tmp_path / "x.gz").read_bytes()

    def rows(columns: str, asked: str) -> list[tuple[Any, ...]]:
        if asked == missing and columns.startswith(part):
            raise SourceError(f"{asked}: DuckDB cannot read this address (HTTP 404)")
        return [(content,)] if columns == "content" else [(asked, len(content), None)]

    monkeypatch.setattr(archive, "_remote_rows", rows)
    source, found = archive.ArchiveSource(REPO, [missing, good]), Batch()
    state: dict[str, str] = {}
    with pytest.raises(SourceError, match=r"2024-01-23-9\.json\.gz.*the other files were read"):
        for batch in source.batches({}):
            found.items.extend(batch.items)
            state |= {cursor.stream: cursor.cursor for cursor in batch.cursors}
    assert len(found.items) == 1
    assert list(json.loads(next(iter(state.values())))["files"]) == [good]
