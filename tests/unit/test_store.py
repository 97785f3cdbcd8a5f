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
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from helpers.rows import Item, Row, put
from support import rows
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
from torch_embers.normalize import REPLACEMENT, clean_text
from torch_embers.store import lock, renames, schema
from torch_embers.store import rows as store_rows
from torch_embers.store.store import Store
from torch_embers.store.take_over import take_over

if TYPE_CHECKING:
    from collections.abc import Callable

REPO = "pytorch/pytorch"
NOON = "2024-01-23T12:00:00Z"
FORMER_SCHEMA = Path(__file__).parent / "schema_52.sql"
"""The tables of schema version 52, from which users take over."""


@pytest.fixture
def store(new_database: Path, tmp_path: Path) -> Store:
    """A store of its own for a test."""
    path = tmp_path / "e.duckdb"
    shutil.copy(new_database, path)
    return Store(path)


def commit(store: Store, *batches: dict[str, list[Row]]) -> None:
    with store.writer("test", create=True) as writer:
        for batch in batches:
            put(writer, **batch)


@pytest.fixture(scope="module")
def filled_database(new_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with some blocks of text."""
    path = tmp_path_factory.mktemp("filled") / "e.duckdb"
    shutil.copy(new_database, path)
    chance = random.Random(1)
    bodies = ["".join(chance.choices("abcdefgh \n", k=3000)) for _ in range(600)]
    commit(Store(path), {"items": [Item(REPO, n, body=b) for n, b in enumerate(bodies, 1)]})
    return path


# ---- schema -----------------------------------------------------------------------------------------------------


def test_every_table_and_column_of_a_new_file_says_what_it_means(store: Store) -> None:
    silent = rows(
        store.path,
        "SELECT table_name, '' FROM duckdb_tables() WHERE NOT internal AND coalesce(comment, '') = '' UNION ALL "
        "SELECT view_name, '' FROM duckdb_views() WHERE NOT internal AND coalesce(comment, '') = '' UNION ALL "
        "SELECT c.table_name, column_name FROM duckdb_columns() c JOIN duckdb_tables() t USING (table_oid) "
        "WHERE NOT t.internal AND coalesce(c.comment, '') = ''",
    )
    assert silent == []


def columns_of(store: Store) -> dict[str, set[str]]:
    known: dict[str, set[str]] = {}
    for table, column in rows(store.path, "SELECT table_name, column_name FROM duckdb_columns()"):
        known.setdefault(table, set()).add(column)
    return known


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
        for table in ("items", "raw", "listed"):
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
@pytest.mark.parametrize("lay", [a_link, a_second_name, a_fifo, a_folder])
def test_a_file_beside_the_database_is_opened_only_where_it_is_one_of_its_own(
    store: Store, tmp_path: Path, lay: Callable[[Path, Path], None], place: str
) -> None:
    behind = tmp_path / "behind"
    behind.write_text("kept")
    lay(tmp_path / f"e.duckdb.{place}", behind)
    with pytest.raises(StoreError, match="no regular file"), store.writer("x"):
        pass
    if place == "lock":  # readers look there only for a name
        assert lock.holder(store.path) == "another process"
    else:
        with pytest.raises(StoreError, match="no regular file"), store.read():
            pass
    assert behind.read_text() == "kept"


@pytest.mark.parametrize("lay", [a_link, a_fifo, a_folder])
def test_no_database_is_made_behind_a_link_to_nothing_or_in_what_is_no_file(
    database: Path, tmp_path: Path, lay: Callable[[Path, Path], None]
) -> None:
    lay(database, tmp_path / "nothing")
    with pytest.raises(StoreError, match="no regular file"), Store(database).writer("x", create=True):
        pass
    assert not (tmp_path / "nothing").exists()


def test_a_database_can_be_read_and_written_behind_a_link(store: Store, tmp_path: Path) -> None:
    linked = Store(tmp_path / "linked.duckdb")
    linked.path.symlink_to(store.path)
    commit(linked, {"items": [Item(REPO, 1)]})
    assert rows(store.path, "SELECT number FROM items") == rows(linked.path, "SELECT number FROM items") == [(1,)]


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
    commit(store, {"items": [Item(REPO, 1)]})
    with duckdb.connect(store.path) as connection:
        connection.execute("CREATE MACRO count_star() AS 7")
    with pytest.raises(InputError, match="count_star"), store.read():
        pass


def test_every_table_and_view_of_a_new_database_is_known_as_one_of_embers(store: Store) -> None:
    made = rows(
        store.path,
        "SELECT 'table', table_name FROM duckdb_tables() UNION ALL "
        "SELECT 'view', view_name FROM duckdb_views() WHERE NOT internal",
    )
    assert set(made) <= schema.created()


def test_a_query_that_does_not_end_is_ended_with_one_line(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch_embers.store.connection.QUERY_LIMIT", 0.1)
    with duckdb.connect(store.path) as connection:
        connection.execute(f"CREATE OR REPLACE VIEW funnel AS {ENDLESS}")
    with pytest.raises(StoreError, match="without an answer"):
        rows(store.path, "FROM funnel")


# ---- versions ---------------------------------------------------------------------------------------------------


def set_version(path: Path, version: int) -> None:
    with duckdb.connect(str(path)) as connection:
        connection.execute("INSERT INTO schema_version VALUES (?, now()::TIMESTAMP, '9.9')", [version])


def test_a_database_from_the_future_is_refused_and_left_alone(store: Store) -> None:
    set_version(store.path, 101)
    before = store.path.read_bytes()
    with pytest.raises(StoreVersionError, match="version 101"), store.read():
        pass
    with pytest.raises(StoreVersionError, match="upgrade torch-embers"), store.writer("x", create=True):
        pass
    assert store.path.read_bytes() == before


def test_keys_of_all_tables_name_columns(store: Store) -> None:
    known = columns_of(store)
    assert all(set(key) <= known[table] for table, key in store_rows.KEYS.items())


# ---- older files ------------------------------------------------------------------------------------------------

OLD_ROWS: list[tuple[str, Row]] = [
    ("schema_version", {"version": 52}),
    ("gold_labels", {"annotator_kind": "human", "annotator": "ann", "source": "label"}),
    ("gold_labels", {"annotator_kind": "paper", "source": "catalog"}),
    ("verdicts", {"build": "b", "provenance": "own"}),
    ("verdicts", {"build": "2.0", "provenance": "shipped"}),
    ("runs", {"build": "b"}),
    ("announcements", {}),
    ("builds", {"build": "b"}),
    ("cases", {}),
    ("items", {"stamps": {}, "number": 1}),
]
ANY = {"VARCHAR": "x", "INTEGER": 0, "BIGINT": 0, "DOUBLE": 0.5, "BOOLEAN": True, "TIMESTAMP": NOON, "VARCHAR[]": ["x"]}


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A database as the last version with migrations (52) made it, with rows of the user and of embers."""
    path = tmp_path / "old.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute(FORMER_SCHEMA.read_text(encoding="utf-8"))
        for table, given in OLD_ROWS:
            kinds = {name: kind for name, kind, *_ in connection.execute(f"DESCRIBE {table}").fetchall()}
            row = {name: given.get(name, ANY.get(kind)) for name, kind in kinds.items()}
            connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", list(row.values()))
    return path


def test_an_older_file_is_refused_with_the_command_that_takes_over(old: Path) -> None:
    before = old.read_bytes()
    for attempt in (Store(old).read(), Store(old).writer("x", create=True)):
        with pytest.raises(StoreVersionError, match=r"mine --take-over .*old\.duckdb --database"), attempt:
            pass
    assert old.read_bytes() == before


def test_what_is_the_users_own_is_taken_over_and_nothing_else(old: Path, store: Store) -> None:
    before = old.read_bytes()
    taken = take_over(store, old)
    assert take_over(store, old) == {}, "the same command again goes on with its mine"
    other = old.with_name("other.duckdb")
    other.write_bytes(before)
    with pytest.raises(InputError, match="of its own"):
        take_over(store, other)
    assert taken == {"builds": 1, "cases": 1, "runs": 1, "verdicts": 1, "announcements": 1, "gold_labels": 1}
    assert rows(store.path, "SELECT annotator FROM gold_labels") == [("ann",)]
    assert rows(store.path, "SELECT build, provenance FROM verdicts") == [("b", "own")]
    assert rows(store.path, "FROM items") == []
    assert old.read_bytes() == before


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ("CREATE MACRO count(a) AS 7", "macro 'count'"),
        ("DROP TABLE schema_version", "no tables of embers"),
        ("UPDATE schema_version SET version = 45", "only 46 to 99"),
        ("UPDATE schema_version SET version = 100", "name it with --database"),
    ],
)
def test_a_file_of_another_kind_gives_nothing(old: Path, store: Store, change: str, named: str) -> None:
    with duckdb.connect(old) as connection:
        connection.execute(change)
    with pytest.raises(EmbersError, match=named):
        take_over(store, old)
    assert rows(store.path, "FROM gold_labels") == []


def test_a_damaged_file_is_named_and_not_the_new_one(old: Path, store: Store) -> None:
    with duckdb.connect(old) as connection:
        connection.execute("CHECKPOINT")
        block = "SELECT max(block_id) FROM pragma_storage_info('runs') WHERE column_name = 'stdout'"
        [(place,)] = connection.execute(block).fetchall()
        [(size,)] = connection.execute("SELECT block_size FROM pragma_database_size()").fetchall()
    with old.open("r+b") as file:
        file.seek(3 * 4096 + place * size)
        file.write(b"damaged " * 512)
    with pytest.raises(StoreCorruptError, match=r"old\.duckdb cannot be read") as error:
        take_over(store, old)
    assert str(store.path) not in str(error.value)
    assert rows(store.path, "FROM runs") == []


def test_a_view_in_the_place_of_a_table_is_not_read(old: Path, store: Store) -> None:
    with duckdb.connect(old) as connection:
        connection.execute("DROP TABLE runs; CREATE VIEW runs AS SELECT * FROM read_csv('/etc/passwd')")
    assert "runs" not in take_over(store, old)


def test_a_file_that_gives_nothing_leaves_no_new_database(old: Path, tmp_path: Path) -> None:
    new = Store(tmp_path / "new.duckdb")
    for name, named in (("none.duckdb", "no such file"), ("old.duckdb.lock", "no such file")):
        with pytest.raises(InputError, match=named):
            take_over(new, tmp_path / name)
    with pytest.raises(InputError, match="name another file"):
        take_over(Store(old), old)
    assert not new.path.exists()


def test_a_repository_with_a_new_name_takes_its_rows_along(store: Store) -> None:
    said = "INSERT INTO raw VALUES (?, 'item', '1', 'rest', NULL, 1, now()::TIMESTAMP, 'h', '{}')"
    with store.writer("test") as writer:
        put(writer, items=[Item("a/b", 1, title="old"), Item("n/m", 1, title="new"), Item("a/b", 2)])
        with writer.transaction() as connection:
            connection.execute(said, ["a/b"])
            connection.execute(said, ["n/m"])
            assert renames.apply(connection, 1, "n/m", "a/b", NOON)
            assert not renames.apply(connection, 2, "a/b", None, NOON)  # who took the free name is another one
            assert renames.present(connection) == {1: "n/m", 2: "a/b"}
    assert rows(store.path, "SELECT repo, number, title FROM items ORDER BY 2") == [("n/m", 1, "new"), ("n/m", 2, None)]
    assert rows(store.path, "SELECT repo FROM raw") == [("n/m",)]


@given(st.text(st.characters(codec=None)))
@example("ascii\x00")
def test_cleaning_replaces_only_what_cannot_be_stored(text: str) -> None:
    cleaned = clean_text(text)
    assert len(cleaned) == len(text)
    cleaned.encode("utf-8")
    for before, after in zip(text, cleaned, strict=True):
        storable = before != "\x00" and not "\ud800" <= before <= "\udfff"
        assert after == (before if storable else REPLACEMENT)


def test_errors_of_the_store_are_embers_errors_with_exit_code_five() -> None:
    kinds = (StoreBusyError, StoreCorruptError, StoreFullError, StoreMissingError, StoreVersionError)
    assert all(issubclass(kind, EmbersError) and kind.exit_code == 5 for kind in kinds)


def test_ctrl_c_while_rows_are_handed_over_is_ctrl_c(database: Path) -> None:
    """DuckDB wraps what strikes while it reads an object of Python's into an error of its own."""
    store = Store(database)
    with store.writer("test", create=True) as writer, pytest.raises(KeyboardInterrupt), writer.transaction():
        raise duckdb.InvalidInputException("counting the rows of 'stage' failed: KeyboardInterrupt: ")
