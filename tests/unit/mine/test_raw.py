"""What was said and what follows from it: the newest statement of each column, whatever the order of arrival."""

from __future__ import annotations

import json
from itertools import permutations
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torch_embers.mine import raw
from torch_embers.mine.raw import Said, part_id

if TYPE_CHECKING:
    from collections.abc import Iterable

REPO = "alice/bugs"
READ = "2026-01-01 12:00:00"
EARLIER = "2025-12-31 12:00:00"
TABLES = (*raw.OF_TRACKER, *raw.OF_READERS)
FACTS = {
    "title": st.sampled_from(["A", "B"]),
    "body": st.sampled_from(["text", None]),
    "state": st.sampled_from(["open", "closed"]),
    "closed_at": st.sampled_from(["2025-01-01T00:00:00Z", None]),
    "state_reason": st.sampled_from(["completed", None]),
    "milestone": st.sampled_from([None, {"title": "2.0", "number": 3}, {"title": "2.1"}]),
    "labels": st.sampled_from([[], ["x"], [{"name": "y"}, {"name": "x"}]]),
    "locked": st.booleans(),
    "comments": st.integers(0, 3),
}


def item(number: int = 1, at: str | None = "2025-06-01T00:00:00Z", **given: Any) -> Said:
    """A statement; keywords that are fields of ``Said`` change the envelope, others are facts."""
    envelope = {name: given.pop(name) for name in list(given) if name in Said._fields}
    said = Said(REPO, "item", str(number), "rest", at, None, READ, json.dumps({"number": number} | given))
    return said._replace(**envelope)


def part(kind: str, key: str, at: str | None = None, number: int = 1, **given: Any) -> Said:
    envelope = {name: given.pop(name) for name in list(given) if name in Said._fields}
    return Said(REPO, kind, part_id(number, key), "graphql", at, None, READ, json.dumps(given))._replace(**envelope)


def tell(connection: duckdb.DuckDBPyConnection, *said: Said) -> None:
    raw.put(connection, said)
    raw.derive(connection, REPO, {int(one.id.partition("/")[0]) for one in said})


def read(connection: duckdb.DuckDBPyConnection, what: str) -> list[tuple[Any, ...]]:
    return connection.execute(what).fetchall()


def state(connection: duckdb.DuckDBPyConnection, without: Iterable[str] = ()) -> dict[str, list[tuple[Any, ...]]]:
    left_out = f"EXCLUDE ({', '.join(without)})" if without else ""
    return {name: sorted(read(connection, f"SELECT * {left_out} FROM {name}"), key=repr) for name in TABLES}


@st.composite
def statements(draw: st.DrawFn) -> list[Said]:
    """Statements of one or two items, dated and undated, numbered as they were said."""
    made = []
    for place in range(draw(st.integers(1, 5))):
        facts = draw(st.fixed_dictionaries({}, optional=FACTS))
        day = draw(st.sampled_from([None, "2025-06-01T00:00:00Z", "2025-07-01T00:00:00Z", "2099-01-01T00:00:00Z"]))
        source = draw(st.sampled_from(["rest", "jsonl", "git"]))
        made.append(item(draw(st.integers(1, 2)), day, source=source, sequence=place, **facts))
    return made


@settings(max_examples=5)
@given(said=statements(), data=st.data())
def test_the_order_of_arrival_and_of_transactions_makes_no_difference(
    base: duckdb.DuckDBPyConnection, said: list[Said], data: st.DataObject
) -> None:
    found = []
    for told in (said, data.draw(st.permutations(said))):
        base.execute("BEGIN")
        cut = data.draw(st.integers(0, len(told)))
        for some in (told[:cut], told[cut:]):
            tell(base, *some)
        found.append(state(base))
        base.execute("ROLLBACK")
    assert found[0] == found[1]


@settings(max_examples=5)
@given(said=statements())
def test_a_statement_that_comes_again_and_a_replay_change_nothing(
    base: duckdb.DuckDBPyConnection, said: list[Said]
) -> None:
    base.execute("BEGIN")
    tell(base, *said)
    before, kept = state(base), read(base, "SELECT count(*) FROM raw")
    tell(base, *said)
    assert (state(base), read(base, "SELECT count(*) FROM raw")) == (before, kept)
    raw.derive_all(base)
    assert state(base) == before
    base.execute("ROLLBACK")


def test_the_newest_statement_of_each_column_wins_and_one_that_lacks_it_says_nothing(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    tell(connection, item(at="2025-07-01T00:00:00Z", title="new"), item(title="old", body="text", labels=["x"]))
    assert read(connection, "SELECT title, body, labels FROM items") == [("new", "text", ["x"])]


def test_null_means_that_there_is_none_now(connection: duckdb.DuckDBPyConnection) -> None:
    tell(connection, item(body="text", milestone={"title": "2.0", "number": 3}, user={"login": "ann"}))
    tell(connection, item(at="2025-07-01T00:00:00Z", body=None, milestone=None, user=None))
    query = "SELECT body, milestone, milestone_number, author FROM items"
    assert read(connection, query) == [("", "", None, "")]


def test_an_undated_statement_and_one_of_the_future_fill_gaps_only(connection: duckdb.DuckDBPyConnection) -> None:
    future = item(at="2099-01-01T00:00:00Z", source="jsonl", title="future", body="kept")
    tell(connection, item(title="dated"), item(at=None, source="catalog", title="undated", labels=["x"]), future)
    assert read(connection, "SELECT title, body, labels FROM items") == [("dated", "kept", ["x"])]


def from_history(kind: str, at: str | None, **facts: Any) -> Said:
    """What a commit states of an item."""
    return item(at=at, source="git")._replace(json_text=json.dumps({"kind": kind} | facts))


def merged(sha: str, at: str, title: str) -> Said:
    facts = {"title": title, "state": "closed", "merged": True, "merged_at": at, "merge_commit_sha": sha}
    return from_history("pull", at, **facts)


HISTORY = (merged("a", "2025-01-02T00:00:00Z", "As merged"), merged("b", "2025-03-02T00:00:00Z", "As merged again"))
FIXED = from_history("issue", None)
CATALOG = item(at=None, source="catalog", pull_request={}, title="Catalog's title")
OPEN = item(at="2024-12-01T00:00:00Z", source="archive", pull_request={}, state="open")
LIVE = item(at="2025-01-03T00:00:00Z", source="rest", pull_request={}, title="Title", state="closed")


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ((HISTORY[0], FIXED), ("pull", "As merged", "closed", "a")),
        (HISTORY, ("pull", "As merged again", "closed", "b")),
        ((HISTORY[0], CATALOG), ("pull", "Catalog's title", "closed", "a")),
        ((HISTORY[0], OPEN), ("pull", "As merged", "open", "a")),
        ((HISTORY[0], LIVE, FIXED), ("pull", "Title", "closed", "a")),
        ((*HISTORY, CATALOG, FIXED), ("pull", "Catalog's title", "closed", "b")),
    ],
)
def test_a_history_fills_gaps_and_never_overwrites_a_tracker_in_any_order(
    connection: duckdb.DuckDBPyConnection, said: tuple[Said, ...], wanted: tuple[str, ...]
) -> None:
    orders = list(permutations(said))
    numbered = [[one._replace(id=str(place)) for one in order] for place, order in enumerate(orders, start=1)]
    for step in range(len(said)):
        tell(connection, *(order[step] for order in numbered))
    assert read(connection, "SELECT DISTINCT kind, title, state, merge_sha FROM items") == [wanted]
    assert read(connection, "SELECT count(*) FROM items") == [(len(orders),)]


def test_the_files_of_a_tracker_take_the_place_of_those_of_a_history(connection: duckdb.DuckDBPyConnection) -> None:
    ours = [part("file", path, number=number, source="git") for number in (1, 2, 3) for path in ("a.py", "only_git.py")]
    theirs = [part("file", "a.py", number=number, additions=3) for number in (1, 2)]
    tell(connection, *theirs[:1], *ours)
    tell(connection, *theirs[1:])
    query = "SELECT number, path, additions FROM pull_files ORDER BY ALL"
    assert read(connection, query) == [(1, "a.py", 3), (2, "a.py", 3), (3, "a.py", None), (3, "only_git.py", None)]


def test_a_reopened_item_has_no_closing_left(connection: duckdb.DuckDBPyConnection) -> None:
    closed = item(
        state="closed", closed_at="2025-06-01T00:00:00Z", state_reason="completed", closed_by={"login": "ann"}
    )
    tell(connection, closed, item(at="2025-07-01T00:00:00Z", state="open"))
    assert read(connection, "SELECT state, closed_at, state_reason, closed_by FROM items") == [
        ("open", None, None, None)
    ]


def test_a_tombstone_is_void_once_the_item_is_seen_again(connection: duckdb.DuckDBPyConnection) -> None:
    gone = item(at=None, absent=True, transferred_to="alice/other#7")
    tell(connection, item(title="here", fetched_at=EARLIER), gone)
    query = "SELECT title, deleted_at IS NULL, transferred_to FROM items"
    assert read(connection, query) == [("here", False, "alice/other#7")]
    tell(connection, item(at="2025-07-01T00:00:00Z", title="back", fetched_at="2026-01-02 00:00:00"))
    assert read(connection, query) == [("back", True, None)]


def test_a_part_that_was_read_whole_leaves_no_row_that_was_read_before(connection: duckdb.DuckDBPyConnection) -> None:
    labeled = {"__typename": "LabeledEvent", "createdAt": "2025-01-01T00:00:00Z"}
    tell(
        connection,
        *(part(kind, "old", fetched_at=EARLIER, body="b", **labeled) for kind in ("comment", "event", "file")),
    )
    kept = [part(kind, "kept", body="b", **labeled) for kind in ("comment", "event", "file")]
    tell(connection, item(title="T", whole=["comments", "files"]), *kept)
    assert read(connection, "SELECT comment_id FROM comments") == [("kept",)]
    assert read(connection, "SELECT path FROM pull_files") == [("kept",)]
    assert len(read(connection, "FROM events")) == 2, "the events were not read whole"


def test_the_end_of_a_link_that_was_read_last_decides(connection: duckdb.DuckDBPyConnection) -> None:
    def closes(number: int, name: str, *others: int, at: str = "2025-06-01T00:00:00Z") -> Said:
        nodes = [{"number": other, "repository": {"nameWithOwner": REPO}} for other in others]
        return item(number, at, source="graphql", **{name: {"nodes": nodes}})

    fixes = "SELECT number, target_number FROM stated_links ORDER BY ALL"
    tell(connection, closes(2, "closingIssuesReferences", 1, 3))
    assert read(connection, fixes) == [(2, 1), (2, 3)]
    tell(connection, closes(1, "closedByPullRequestsReferences"))
    assert read(connection, fixes) == [(2, 3)]
    tell(connection, closes(2, "closingIssuesReferences", 1, at="2025-07-01T00:00:00Z"))
    assert read(connection, fixes) == [(2, 1)]
    raw.derive_all(connection)
    assert read(connection, fixes) == [(2, 1)]


def test_one_event_under_two_keys_is_one_row(connection: duckdb.DuckDBPyConnection) -> None:
    happened = {"__typename": "LabeledEvent", "createdAt": "2025-01-01T00:00:00Z", "label": {"name": "x"}}
    number = {"event": "labeled", "created_at": "2025-01-01T00:00:00Z", "label": {"name": "x"}}
    tell(connection, part("event", "LE_1", **happened), part("event", "77", **number))
    assert read(connection, "SELECT event_id FROM events") == [("LE_1",)]


def test_a_replay_that_fails_leaves_everything_and_one_without_an_item_is_named(
    base: duckdb.DuckDBPyConnection,
) -> None:
    base.execute("BEGIN")
    tell(base, item(title="T"), part("comment", "1", body="b"))
    base.execute("INSERT INTO raw SELECT * REPLACE ('none' AS id) FROM raw WHERE kind = 'comment'")
    base.execute("COMMIT")
    before = state(base)
    try:
        base.execute("BEGIN")
        base.execute("ALTER TABLE pull_files RENAME TO elsewhere")
        with pytest.raises(duckdb.CatalogException):
            raw.derive_all(base)
        base.execute("ROLLBACK")
        assert state(base) == before
        base.execute("BEGIN")
        raw.derive_all(base)
        assert state(base) == before
        assert read(base, "SELECT origin, reason FROM rejects") == [
            (f"{REPO} comment none", "an object without its item")
        ]
        base.execute("ROLLBACK")
    finally:
        for table in ("raw", *TABLES):
            base.execute(f"DELETE FROM {table}")


@given(st.text() | st.text(st.sampled_from("\\u0dD8fc\x00\ud800\udc00é"), max_size=12))
def test_any_text_can_be_stored_and_comes_back(base: duckdb.DuckDBPyConnection, text: str) -> None:
    base.execute("BEGIN")
    tell(base, item(title=text))
    [(title,)] = read(base, "SELECT title FROM items")
    base.execute("ROLLBACK")
    joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert len(title) == len(joined)
    assert all(a == b or a == "\ufffd" for a, b in zip(title, joined, strict=True))
