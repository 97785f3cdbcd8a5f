"""The store: every row once, a batch whole or not at all, one writer by name, readers beside it, clear errors."""

from __future__ import annotations

import fcntl
import os
import random
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from helpers.rows import Item, put
from support import eventually, rows, small_disk
from torch_embers.errors import StoreBusyError, StoreError
from torch_embers.store import connection as opening
from torch_embers.store import lock
from torch_embers.store import writer as writing
from torch_embers.store.export import TABLES, export
from torch_embers.store.store import Store
from unit.test_store import NOON, REPO, commit, filled_database, store  # noqa: F401 - fixtures

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


BEGINNING = """
import duckdb, os, sys, time
from pathlib import Path
from torch_embers.errors import StoreError, StoreFullError
from torch_embers.store.store import Store
"""
"""Of the programs of this file."""


def program(code: str, *arguments: object) -> list[str]:
    """The command that runs ``code`` in a second process."""
    return [sys.executable, "-c", BEGINNING + textwrap.dedent(code), *map(str, arguments)]


@contextmanager
def python(code: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """A second process that runs ``code`` and has printed its first line."""
    command = program(code, *arguments)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "ready"
        try:
            yield process
        finally:
            process.kill()


def test_labels_are_the_current_labels_one_row_each(store: Store) -> None:
    commit(store, {"items": [Item(REPO, 1, labels=("a", "b")), Item(REPO, 2), Item(REPO, 3, labels=())]})
    assert rows(store.path, "SELECT number, name FROM labels ORDER BY ALL") == [(1, "a"), (1, "b")]
    commit(store, {"items": [Item(REPO, 1, labels=("b",), updated_at=NOON)]})
    assert rows(store.path, "SELECT number, name FROM labels ORDER BY ALL") == [(1, "b")]


# ---- transactions -----------------------------------------------------------------------------------------------


def state_of(store: Store) -> tuple[Any, ...]:
    counts = "(SELECT count(*) FROM raw), (SELECT count(*) FROM items), (SELECT count(*) FROM listed)"
    return rows(store.path, f"SELECT {counts}")[0]


def test_a_transaction_that_fails_leaves_nothing(store: Store) -> None:
    with store.writer("test", create=True) as writer:
        with pytest.raises(StoreError), writer.transaction() as connection:
            connection.execute("INSERT INTO items (repo, number) VALUES ('o/r', 1)")
            connection.execute("INSERT INTO listed SELECT no_such_function()")
        assert state_of(store) == (0, 0, 0)
        with pytest.raises(ZeroDivisionError), writer.transaction() as connection:
            connection.execute("INSERT INTO items (repo, number) VALUES ('o/r', 1)")
            raise ZeroDivisionError
    assert state_of(store) == (0, 0, 0)


def row_groups(store: Store) -> int:
    return int(rows(store.path, "SELECT count(DISTINCT row_group_id) FROM pragma_storage_info('items')")[0][0])


def test_small_transactions_leave_the_items_alone_and_their_row_groups_are_merged_now_and_then(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "MERGE_EVERY", 5)
    monkeypatch.setattr(writing, "MERGE_LEAST", 1)
    with store.writer("test") as writer:
        counts = []
        for number in range(1, 8):
            put(writer, items=[Item(REPO, number)])
            counts.append(row_groups(store))
    assert max(counts) > 2, "not merged at each closing of the file"
    assert counts[-1] < 4, "merged in between"
    assert row_groups(store) == 1, "merged at the end"


# ---- lock and readers -------------------------------------------------------------------------------------------

HOLD_LOCK = """
    with Store(Path(sys.argv[1])).writer("embers mine --source test", create=True):
        print("ready", flush=True)
        sys.stdin.read()
"""
HOLD_FILE = """
    with Store(Path(sys.argv[1])).writer("embers mine --source test", create=True) as writer, writer.transaction():
        print("ready", flush=True)
        sys.stdin.read()
"""
WRITE_ON = """
    with Store(Path(sys.argv[1])).writer("embers mine --source test", create=True) as writer:
        number = 0
        while True:
            number += 1
            with writer.transaction() as connection:
                connection.execute("INSERT INTO items (repo, number) VALUES ('o/r', $1), ('o/s', $1)", [number])
            if number == 1:
                print("ready", flush=True)
"""


def test_a_second_writer_in_the_same_process_is_refused_too(store: Store) -> None:
    with store.writer("first", create=True), pytest.raises(StoreBusyError, match="first"), store.writer("second"):
        pass


def test_the_lock_is_free_after_its_holder_was_killed(store: Store) -> None:
    with python(HOLD_FILE, store.path) as holder:
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    commit(store, {"items": [Item(REPO, 1)]})
    assert state_of(store) == (0, 1, 0)


def test_a_reader_works_while_a_writer_only_holds_its_lock(store: Store) -> None:
    with python(HOLD_LOCK, store.path):
        assert state_of(store) == (0, 0, 0)


def test_a_reader_that_waited_in_vain_is_told_who_has_the_file(store: Store) -> None:
    with python(HOLD_FILE, store.path) as holder:
        started = time.monotonic()
        with pytest.raises(StoreBusyError) as caught, store.read(patience=0.3):
            pass
        assert time.monotonic() - started >= 0.3
    assert f"process {holder.pid}" in str(caught.value)
    assert "embers mine --source test" in str(caught.value)


def test_a_reader_waits_for_a_writer_that_is_about_to_finish(store: Store) -> None:
    with python(HOLD_FILE, store.path) as holder:
        assert holder.stdin is not None
        timer = threading.Timer(0.5, holder.stdin.close)
        timer.start()
        assert state_of(store) == (0, 0, 0)
        timer.join()


def test_readers_see_whole_batches_while_a_writer_process_goes_on(store: Store) -> None:
    seen = []
    with python(WRITE_ON, store.path):
        while len(seen) < 10 or seen[-1] == seen[0]:
            [(left, right)] = rows(
                store.path, "SELECT count(*) FILTER (repo = 'o/r'), count(*) FILTER (repo = 'o/s') FROM items"
            )
            assert left == right
            seen.append(left)
    assert seen == sorted(seen)


def test_an_export_beside_an_active_writer_holds_whole_batches(store: Store, tmp_path: Path) -> None:
    with python(WRITE_ON, store.path) as writer:
        for attempt in range(4):
            [done] = export(store, tmp_path / str(attempt), "parquet", ("items",))
            counted = f"SELECT count(*) FILTER (repo = 'o/r') - count(*) FILTER (repo = 'o/s') FROM '{done.path}'"
            assert duckdb.sql(counted).fetchall() == [(0,)]
        assert writer.poll() is None


def test_every_table_is_one_whole_file_also_in_a_folder_named_like_sql(catalog_template: Path, tmp_path: Path) -> None:
    store, folder = Store(catalog_template), tmp_path / "new" / "o'hara\"); DROP TABLE items; --"
    done = export(store, folder, "csv")
    assert {path.name for path in folder.iterdir()} == {f"{table}.csv" for table in TABLES}
    assert "raw" not in TABLES, "these on request only"
    for one in done:
        assert rows(store.path, f"SELECT count(*) FROM {one.table}") == [(one.rows,)], one.table


KEEP_OPEN = """
    connection = duckdb.connect(sys.argv[1], read_only=True)
    print("ready", flush=True)
    sys.stdin.read()
"""
MANY_READERS = """
    children = []
    for _ in range(int(sys.argv[2])):
        child = os.fork()
        if child:
            children.append(child)
            continue
        while os.getppid() == os.getpgrp():
            with Store(Path(sys.argv[1])).read(patience=60) as connection:
                connection.execute("SELECT count(*) FROM items").fetchall()
                time.sleep(0.05)
        os._exit(0)
    print("ready", flush=True)
    sys.stdin.read()
"""


def test_a_writer_waits_for_a_reader_and_says_for_whom(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(opening, "QUIET", 0.2)
    with python(KEEP_OPEN, store.path) as reader:
        assert reader.stdin is not None
        timer = threading.Timer(1, reader.stdin.close)
        timer.start()
        commit(store, {"items": [Item(REPO, 1)]})
        timer.join()
    [line] = caplog.messages
    assert f"in use by process {reader.pid} (`" in line
    assert "import duckdb" in line, "its command line"


def test_a_writer_that_waited_in_vain_names_the_reader_and_not_itself(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "WRITE_PATIENCE", 0.3)
    with python(KEEP_OPEN, store.path) as reader, pytest.raises(StoreBusyError) as caught:
        commit(store, {"items": [Item(REPO, 1)]})
    assert f"process {reader.pid} (`" in str(caught.value)
    assert "`test`" not in str(caught.value), "the purpose of the writer"


def test_a_connection_of_the_same_process_is_named_as_such(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "OWN_PATIENCE", 0.3)
    with store.read(), pytest.raises(StoreBusyError, match=rf"this process \({os.getpid()}\) itself: close"):
        commit(store, {"items": [Item(REPO, 1)]})


def test_a_reader_that_keeps_the_file_open_does_not_stop_other_readers_while_a_writer_waits(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "YIELD", 0.3)
    with python(KEEP_OPEN, store.path) as reader:
        waiting = threading.Thread(target=commit, args=[store, {"items": [Item(REPO, 1)]}])
        waiting.start()
        eventually(lambda: turn_is_taken(store.path))
        with python(COUNT, store.path) as second:
            assert second.wait(20) == 0
        assert reader.stdin is not None
        reader.stdin.close()
        waiting.join()
    assert state_of(store) == (0, 1, 0)


COUNT = """
    print("ready", flush=True)
    with Store(Path(sys.argv[1])).read() as connection:
        assert connection.execute("SELECT count(*) FROM items").fetchall() == [(0,)]
"""


def test_a_reader_at_the_end_does_not_keep_a_writer_that_only_has_row_groups_to_merge(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "MERGE_PATIENCE", 0.1)
    monkeypatch.setattr(writing, "MERGE_LEAST", 1)
    with ExitStack() as readers, store.writer("test") as writer:
        put(writer, items=[Item(REPO, 1)])
        readers.enter_context(python(KEEP_OPEN, store.path))
    assert state_of(store) == (0, 1, 0)


def turn_is_taken(database: Path) -> bool:
    """Whether a writer waits for a database, or writes."""
    if not lock.turn_path(database).exists():
        return False
    with lock.turn_path(database).open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


@pytest.mark.serial
def test_a_hundred_readers_do_not_keep_a_writer_waiting(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "WRITE_PATIENCE", 120.0)  # without turns it gives up: it waited for ever
    commit(store)
    with subprocess.Popen(
        program(MANY_READERS, store.path, 100),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as readers:
        try:
            assert readers.stdout is not None
            assert readers.stdout.readline().strip() == "ready"
            time.sleep(2)
            commit(store, *({"items": [Item(REPO, number)]} for number in range(1, 6)))
        finally:
            os.killpg(readers.pid, signal.SIGKILL)
    assert state_of(store) == (0, 5, 0)


READ_ALL = """
    for name in sys.argv[1:]:
        try:
            with Store(Path(name)).read() as connection:
                rows = connection.execute("SELECT * FROM items").fetchall()
                print("read", hash(str(rows)), flush=True)
        except StoreError as error:
            print(type(error).__name__, flush=True)
"""


def test_any_damage_is_either_harmless_or_reported(filled_database: Path, tmp_path: Path) -> None:
    content = filled_database.read_bytes()
    chance = random.Random(7)
    names = []
    for attempt in range(30):
        damaged = bytearray(content)
        place = chance.randrange(len(content)) if attempt % 3 else chance.randrange(12_288)
        damaged[place : place + 8] = chance.randbytes(8)
        if attempt % 5 == 4:
            damaged = damaged[: chance.randrange(1, len(content))]
        path = tmp_path / f"{attempt}.duckdb"
        path.write_bytes(damaged)
        names.append(str(path))
    environment = os.environ | {"PYTHONHASHSEED": "0"}
    command = program(READ_ALL, filled_database, *names)
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    whole, *outcomes = done.stdout.splitlines()
    assert len(outcomes) == len(names)
    assert set(outcomes) <= {whole, "StoreCorruptError"}
    assert "StoreCorruptError" in outcomes


# ---- a full disk ------------------------------------------------------------------------------------------------

FILL = """
    import resource
    path, limit = Path(sys.argv[1]), int(sys.argv[2])
    if limit:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    print("ready", flush=True)
    try:
        with Store(path).writer("embers mine", create=True) as writer:
            with Store(path).read() as connection:
                [(done,)] = connection.execute("SELECT coalesce(max(number), 0) FROM listed").fetchall()
            for place in range(done + 1, 11):
                body = os.urandom(300_000).hex()
                with writer.transaction() as connection:
                    said = [str(place), str(place), '"' + body + '"']
                    connection.execute(
                        "INSERT INTO raw VALUES ('o/r', 'item', ?, 'rest', NULL, 1, now()::TIMESTAMP, ?, ?)", said
                    )
                    connection.execute("INSERT INTO items (repo, number, body) VALUES ('o/r', ?, ?)", [place, body])
                    connection.execute(
                        "INSERT INTO listed (repo, number, seen_at, is_absent, tries) "
                        "VALUES ('o/r', ?, now()::TIMESTAMP, false, 0)", [place]
                    )
                print(place, flush=True)
        print("done")
    except StoreFullError as error:
        print("full:", error)
"""


def fill(path: Path, limit: int = 0) -> tuple[int, str]:
    """Write until the disk is full; return the last committed place and the last line."""
    done = subprocess.run(program(FILL, path, limit), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr[-3000:]
    said = done.stdout.splitlines()[1:]
    return max((int(line) for line in said if line.isdigit()), default=0), said[-1]


def assert_whole_up_to(store: Store, place: int) -> None:
    """Objects, items and marks end at the same place: nothing half-written."""
    assert rows(store.path, "SELECT count(*), max(number) FROM items WHERE length(body) = 600000") == [(place, place)]
    assert state_of(store) == (place, place, place)


def assert_full_then_completed(path: Path, full: tuple[int, str], target: Path) -> None:
    place, last = full
    assert last.startswith("full: no room for"), last
    assert "run the same command again" in last
    assert 0 < place < 10
    store = Store(path)
    assert_whole_up_to(store, place)
    if target != path:
        shutil.copy(path, target)
    assert fill(target) == (10, "done")
    assert_whole_up_to(Store(target), 10)


def test_a_file_that_may_not_grow_is_a_full_disk_and_the_next_run_completes(store: Store) -> None:
    assert_full_then_completed(store.path, fill(store.path, 4_000_000), store.path)


def test_a_full_disk_keeps_every_whole_batch_and_the_next_run_completes(new_database: Path, tmp_path: Path) -> None:
    with small_disk("4m") as disk:
        path = shutil.copy(new_database, disk / "e.duckdb")
        assert_full_then_completed(path, fill(path), tmp_path / "moved.duckdb")


def test_ctrl_c_while_the_file_is_opened_is_ctrl_c(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB makes a bare RuntimeError of it, in whatever statement it strikes."""
    store = Store(database)
    with store.writer("test", create=True):
        pass

    def struck(*_: Any) -> None:
        raise RuntimeError("Query interrupted")

    monkeypatch.setattr("torch_embers.store.connection._close_off", struck)
    with pytest.raises(KeyboardInterrupt), store.read():
        pass
    with pytest.raises(KeyboardInterrupt), store.writer("test", create=True):
        pass
