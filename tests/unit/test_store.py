"""The store: every row once, a batch whole or not at all, one writer by name, readers beside it, clear errors."""

from __future__ import annotations

import fcntl
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from torch_embers import resources
from torch_embers.errors import (
    EmbersError,
    InputError,
    StoreBusyError,
    StoreCorruptError,
    StoreError,
    StoreFullError,
    StoreMissingError,
    StoreVersionError,
)
from torch_embers.mine.pages import make_page
from torch_embers.normalize import REPLACEMENT, clean_text
from torch_embers.store import lock, schema, tables
from torch_embers.store.records import Batch, Item, Page
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

REPO = "pytorch/pytorch"
NOON = "2024-01-23T12:00:00Z"


@pytest.fixture
def store(new_database: Path, tmp_path: Path) -> Store:
    """A store of its own for a test."""
    path = tmp_path / "e.duckdb"
    shutil.copy(new_database, path)
    return Store(path)


def page(body: bytes = b"[]", request: str = "r") -> Page:
    return make_page(REPO, "rest", "rest.items", request, body, NOON)


def commit(store: Store, *batches: Batch) -> None:
    with store.writer("test", create=True) as writer:
        for batch in batches:
            writer.commit(batch)


def rows(store: Store, query: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
    with store.read() as connection:
        return connection.execute(query, list(parameters)).fetchall()


@pytest.fixture(scope="module")
def filled_database(new_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with some blocks of text."""
    path = tmp_path_factory.mktemp("filled") / "e.duckdb"
    shutil.copy(new_database, path)
    chance = random.Random(1)
    bodies = ["".join(chance.choices("abcdefgh \n", k=3000)) for _ in range(600)]
    commit(
        Store(path), Batch(items=[Item(REPO, n, body=b) for n, b in enumerate(bodies, 1)], pages=[page(b"x" * 9999)])
    )
    return path


REAL = schema.migrations()
NOW = schema.latest_version()
STEPS = {
    NOW + 1: "ALTER TABLE items ADD COLUMN two INTEGER; CREATE TABLE log (step INTEGER); INSERT INTO log VALUES (1)",
    NOW + 3: "INSERT INTO log VALUES (3)",
    NOW + 2: "INSERT INTO log VALUES (2)",
}


# ---- schema -----------------------------------------------------------------------------------------------------


def test_every_table_and_column_of_a_new_file_says_what_it_means(store: Store) -> None:
    silent = rows(
        store,
        "SELECT table_name, '' FROM duckdb_tables() WHERE NOT internal AND coalesce(comment, '') = '' UNION ALL "
        "SELECT view_name, '' FROM duckdb_views() WHERE NOT internal AND coalesce(comment, '') = '' UNION ALL "
        "SELECT c.table_name, column_name FROM duckdb_columns() c JOIN duckdb_tables() t USING (table_oid) "
        "WHERE NOT t.internal AND coalesce(c.comment, '') = ''",
    )
    assert silent == []


def columns_of(store: Store) -> dict[str, set[str]]:
    known: dict[str, set[str]] = {}
    for table, column in rows(store, "SELECT table_name, column_name FROM duckdb_columns()"):
        known.setdefault(table, set()).add(column)
    return known


def test_rows_from_outside_carry_where_they_came_from(store: Store) -> None:
    known = columns_of(store)
    for table in tables.DERIVED_TABLES:
        assert {"source", "fetched_at", "page_id"} <= known[table], table


def test_rejects_are_kept_in_order_and_never_replaced(store: Store) -> None:
    from torch_embers.store.records import Reject

    refused = [Reject("f:1", n, "why", "raw", source="jsonl") for n in (3, 1, 2, 1)]
    commit(store, Batch(rejects=refused))
    assert [r[0] for r in rows(store, "SELECT line FROM rejects")] == [3, 1, 2, 1]


def test_a_store_without_a_file_has_no_cursors(tmp_path: Path) -> None:
    assert Store(tmp_path / "none.duckdb").cursors(REPO, "rest") == {}


def test_a_holder_without_a_note_is_another_process(tmp_path: Path) -> None:
    database = tmp_path / "e.duckdb"
    assert lock.holder(database) == "another process"
    for odd in ("", "[]", '"x"', '{"pid": 1}', "\x00"):
        lock.lock_path(database).write_text(odd)
        assert lock.holder(database) == "another process"


@pytest.mark.parametrize("left", ["", '{"pid": %d, "host": "%s", "purpose": "killed", "since": "then"}'])
def test_a_writer_that_has_just_taken_the_lock_is_named_and_not_the_one_before_it(store: Store, left: str) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as dead:
        pass
    path = lock.lock_path(store.path)
    path.write_text(left % (dead.pid, socket.gethostname()) if left else left)
    note = {"pid": os.getpid(), "host": socket.gethostname(), "purpose": "the present one", "since": "now"}
    with path.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        later = threading.Timer(0.2, lambda: path.write_text(json.dumps(note)))
        later.start()
        with pytest.raises(StoreBusyError, match="the present one"), store.writer("second", create=True):
            pass
        later.join()


def test_a_folder_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(StoreError, match="cannot write beside"),
        Store(tmp_path / "file/e.duckdb").writer("x", create=True),
    ):
        pass


# ---- files that cannot be used ----------------------------------------------------------------------------------


def test_reading_without_a_database_says_how_to_get_one(tmp_path: Path) -> None:
    (tmp_path / "empty.duckdb").write_bytes(b"")
    for name in ("none.duckdb", "empty.duckdb"):
        with pytest.raises(StoreMissingError, match="embers mine"), Store(tmp_path / name).read():
            pass


@pytest.mark.parametrize(
    "content", [b"x", b"not a database\n" * 1000, bytes(20_000), b"SQLite format 3\x00" + bytes(8000)], ids=range(4)
)
def test_a_file_that_is_no_database_is_called_so_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "e.duckdb"
    path.write_bytes(content)
    with pytest.raises(StoreCorruptError, match=r"e\.duckdb"), Store(path).read():
        pass
    with pytest.raises(StoreCorruptError, match=r"e\.duckdb"), Store(path).writer("x", create=True):
        pass
    assert path.read_bytes() == content


def test_damaged_blocks_are_reported_as_damage(filled_database: Path, tmp_path: Path) -> None:
    path = tmp_path / "e.duckdb"
    content = bytearray(filled_database.read_bytes())
    for place in range(12_288 + 100, len(content), 4096):
        content[place] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(StoreCorruptError, match="restore a copy"), Store(path).read() as connection:
        for table in ("items", "raw_pages", "sync_state"):
            connection.execute(f"FROM {table}").fetchall()


def a_link(path: Path, behind: Path) -> None:
    path.symlink_to(behind)


def a_second_name(path: Path, behind: Path) -> None:
    path.hardlink_to(behind)


def a_fifo(path: Path, _: Path) -> None:
    os.mkfifo(path)


def a_folder(path: Path, _: Path) -> None:
    path.mkdir()


@pytest.mark.parametrize("place", ["lock", "turn", "wal", "wal.recovery"])
@pytest.mark.parametrize("put", [a_link, a_second_name, a_fifo, a_folder])
def test_a_file_beside_the_database_is_opened_only_where_it_is_one_of_its_own(
    store: Store, tmp_path: Path, put: Callable[[Path, Path], None], place: str
) -> None:
    behind = tmp_path / "behind"
    behind.write_text("kept")
    put(tmp_path / f"e.duckdb.{place}", behind)
    with pytest.raises(StoreError, match="no regular file"), store.writer("x"):
        pass
    if place == "lock":  # readers look there only for a name
        assert lock.holder(store.path) == "another process"
    else:
        with pytest.raises(StoreError, match="no regular file"), store.read():
            pass
    assert behind.read_text() == "kept"


@pytest.mark.parametrize("put", [a_link, a_fifo, a_folder])
def test_no_database_is_made_behind_a_link_to_nothing_or_in_what_is_no_file(
    database: Path, tmp_path: Path, put: Callable[[Path, Path], None]
) -> None:
    put(database, tmp_path / "nothing")
    with pytest.raises(StoreError, match="no regular file"), Store(database).writer("x", create=True):
        pass
    assert not (tmp_path / "nothing").exists()


def test_a_database_can_be_read_and_written_behind_a_link(store: Store, tmp_path: Path) -> None:
    linked = Store(tmp_path / "linked.duckdb")
    linked.path.symlink_to(store.path)
    commit(linked, Batch(items=[Item(REPO, 1)]))
    assert rows(store, "SELECT number FROM items") == rows(linked, "SELECT number FROM items") == [(1,)]


ENDLESS = "WITH RECURSIVE n AS (SELECT 1 AS version UNION ALL SELECT version + 1 FROM n) SELECT max(version) AS version FROM n"


@pytest.mark.parametrize(
    ("made", "named"),
    [
        ("CREATE MACRO regexp_replace(a, b, c, d) AS a", "macro 'regexp_replace'"),
        ('CREATE MACRO "||"(a, b) AS a', r"macro '\|\|'"),
        ("CREATE MACRO duckdb_functions() AS TABLE SELECT 1", "macro 'duckdb_functions'"),
        ("CREATE TABLE notes (i INTEGER)", "table 'notes'.*ATTACH"),
        (f"CREATE VIEW more AS {ENDLESS}", "view 'more'"),
        ('CREATE VIEW "\x1b[31m" AS SELECT 1', r"view '\\x1b\[31m'"),
        ("DROP VIEW funnel; CREATE TABLE funnel (i INTEGER)", "table 'funnel'"),
        ("CREATE SCHEMA s; CREATE TABLE s.items (i INTEGER)", "schema 's'"),
        ("CREATE SEQUENCE q", "sequence 'q'"),
        ("CREATE TYPE kind AS ENUM ('a')", "type 'kind'"),
        ("CREATE INDEX numbers ON items (number)", "index 'numbers'"),
        (f"DROP TABLE schema_version; CREATE VIEW schema_version AS {ENDLESS}", "no tables of embers"),
    ],
)
def test_a_database_that_holds_what_embers_did_not_make_is_refused_by_name(store: Store, made: str, named: str) -> None:
    with duckdb.connect(store.path) as connection:
        connection.execute(made)
    before = store.path.read_bytes()
    with pytest.raises(InputError, match=named), store.read():
        pass
    with pytest.raises(InputError, match=named), store.writer("x", create=True):
        pass
    assert store.path.read_bytes() == before


def test_what_this_process_has_checked_is_checked_again_once_it_changed(store: Store) -> None:
    commit(store, Batch(items=[Item(REPO, 1)]))
    with duckdb.connect(store.path) as connection:
        connection.execute("CREATE MACRO count_star() AS 7")
    with pytest.raises(InputError, match="count_star"), store.read():
        pass


def test_every_table_and_view_of_a_new_database_is_known_as_one_of_embers(store: Store) -> None:
    made = rows(
        store,
        "SELECT 'table', table_name FROM duckdb_tables() UNION ALL "
        "SELECT 'view', view_name FROM duckdb_views() WHERE NOT internal",
    )
    assert set(made) <= schema.created()


def test_a_query_that_does_not_end_is_ended_with_one_line(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch_embers.store.connection.QUERY_LIMIT", 0.1)
    with duckdb.connect(store.path) as connection:
        connection.execute(f"CREATE OR REPLACE VIEW funnel AS {ENDLESS}")
    with pytest.raises(StoreError, match="without an answer"):
        rows(store, "FROM funnel")


# ---- versions ---------------------------------------------------------------------------------------------------


def set_version(path: Path, version: int) -> None:
    with duckdb.connect(str(path)) as connection:
        connection.execute("INSERT INTO schema_version VALUES (?, now()::TIMESTAMP, '9.9')", [version])


def test_a_database_from_the_future_is_refused_and_left_alone(store: Store) -> None:
    set_version(store.path, 99)
    before = store.path.read_bytes()
    with pytest.raises(StoreVersionError, match="version 99"), store.read():
        pass
    with pytest.raises(StoreVersionError, match="upgrade torch-embers"), store.writer("x", create=True):
        pass
    assert store.path.read_bytes() == before


def test_each_migration_has_a_number_of_its_own() -> None:
    """Two files with one number, as two branches may bring them, would leave one of them out without a word."""
    files = list((resources.PACKAGE_DIR / "store" / "migrations").glob("*.sql"))
    assert len(files) == len(REAL)


def test_a_step_that_came_later_with_a_lower_number_is_applied(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    first = {number: text for number, text in STEPS.items() if number != NOW + 2}
    monkeypatch.setattr(schema, "migrations", lambda: REAL | first)
    commit(store)
    monkeypatch.setattr(schema, "migrations", lambda: REAL | STEPS)
    with store.read() as connection, pytest.raises(InputError, match="older embers"):
        schema.require_latest(connection, store.path)
    commit(store)
    assert rows(store, "SELECT step FROM log") == [(1,), (3,), (2,)]


@given(st.text(st.characters(codec=None)))
def test_cleaning_replaces_only_what_cannot_be_stored(text: str) -> None:
    cleaned = clean_text(text)
    assert len(cleaned) == len(text)
    cleaned.encode("utf-8")
    for before, after in zip(text, cleaned, strict=True):
        storable = before != "\x00" and not "\ud800" <= before <= "\udfff"
        assert after == (before if storable else REPLACEMENT)


def test_a_time_that_is_none_becomes_null_and_does_not_stop_the_batch(store: Store) -> None:
    commit(store, Batch(items=[Item(REPO, 1, created_at="soon", updated_at="0000-99-99T99:99:99Z")]))
    assert rows(store, "SELECT created_at, updated_at FROM items") == [(None, None)]


def test_errors_of_the_store_are_embers_errors_with_exit_code_five() -> None:
    kinds = (StoreBusyError, StoreCorruptError, StoreFullError, StoreMissingError, StoreVersionError)
    assert all(issubclass(kind, EmbersError) and kind.exit_code == 5 for kind in kinds)


def test_ctrl_c_while_rows_are_handed_over_is_ctrl_c(database: Path) -> None:
    """DuckDB wraps what strikes while it reads an object of Python's into an error of its own."""
    store = Store(database)
    with store.writer("test", create=True) as writer, pytest.raises(KeyboardInterrupt), writer.transaction():
        raise duckdb.InvalidInputException("counting the rows of 'stage' failed: KeyboardInterrupt: ")
