"""The store: every row once, a batch whole or not at all, one writer by name, readers beside it, clear errors."""

from __future__ import annotations

import fcntl
import itertools
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from support import eventually, example_count
from torch_embers.errors import (
    StoreBusyError,
    StoreError,
)
from torch_embers.normalize import clean_text
from torch_embers.store import connection as opening
from torch_embers.store import lock, schema
from torch_embers.store import writer as writing
from torch_embers.store.records import Batch, Comment, Event, Item, Review, ReviewComment, SyncState
from torch_embers.store.store import Store
from torch_embers.store.tables import FOLLOWS
from unit.test_store import (  # noqa: F401 - fixtures
    NOON,
    NOW,
    REAL,
    REPO,
    STEPS,
    commit,
    filled_database,
    page,
    rows,
    store,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


MOMENTS = tuple(f"2024-01-01T00:00:{second:02d}Z" for second in range(8))
texts = st.one_of(st.none(), st.sampled_from(["", "x", "y", "z"]))


@st.composite
def items(draw: st.DrawFn) -> Item:
    """What sources say of an item: rich or thin, open or closed, dated or not, in any order."""
    state = draw(st.sampled_from([None, "open", "closed"]))
    reasons: dict[str | None, list[str | None]] = {
        None: [None],
        "open": [None, "reopened"],
        "closed": [None, "", "completed", "not_planned"],
    }
    closed = st.sampled_from([None, *MOMENTS])
    return Item(
        REPO,
        draw(st.integers(1, 3)),
        kind=draw(st.sampled_from([None, "issue"])),
        title=draw(texts),
        body=draw(texts),
        state=state,
        state_reason=draw(st.sampled_from(reasons[state])),
        closed_at=draw(closed) if state == "closed" else None,
        comment_count=draw(st.one_of(st.none(), st.integers(0, 3))),
        is_draft=draw(st.one_of(st.none(), st.booleans())),
        locked=(locked := draw(st.one_of(st.none(), st.booleans()))),
        lock_reason=draw(st.sampled_from([None, "spam"])) if locked else None,
        closed_by=draw(st.sampled_from([None, "ann"])) if state == "closed" else None,
        labels=draw(st.one_of(st.none(), st.lists(st.sampled_from("ab"), unique=True).map(lambda x: tuple(sorted(x))))),
        updated_at=draw(st.one_of(st.none(), st.sampled_from(MOMENTS))),
        source="rest",
        page_id=draw(st.sampled_from("pqr")),
    )


def cursor(text: str = "{}") -> SyncState:
    return SyncState(REPO, "rest", "items", text, NOON)


def value(store: Store, query: str, parameters: Sequence[object] = ()) -> Any:
    return rows(store, query, parameters)[0][0]


@contextmanager
def python(code: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """A second process that runs ``code`` and has printed its first line."""
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "ready"
        try:
            yield process
        finally:
            process.kill()


def test_labels_are_the_current_labels_one_row_each(store: Store) -> None:
    commit(store, Batch(items=[Item(REPO, 1, labels=("a", "b")), Item(REPO, 2), Item(REPO, 3, labels=())]))
    assert rows(store, "SELECT number, name FROM labels ORDER BY ALL") == [(1, "a"), (1, "b")]
    commit(store, Batch(items=[Item(REPO, 1, labels=("b",), updated_at=NOON)]))
    assert rows(store, "SELECT number, name FROM labels ORDER BY ALL") == [(1, "b")]


COMPARED = (
    "kind",
    "title",
    "body",
    "state",
    "state_reason",
    "comment_count",
    "is_draft",
    "labels",
    "closed_at",
    "closed_by",
    "locked",
    "lock_reason",
    "page_id",
)


def merged(arrived: list[Item]) -> dict[int, dict[str, object]]:
    """The rule in plain Python: per column the newest row that says something, by (updated_at, arrival).

    A row of an open item says that there is no closing time, and no reason but `reopened`.
    """
    found: dict[int, dict[str, object]] = {}
    for number in {i.number for i in arrived}:
        ranked = sorted(
            (i for i in arrived if i.number == number), key=lambda i: i.updated_at or ""
        )  # stable: equal times stay in order of arrival
        row: dict[str, object] = {}
        for name in COMPARED:
            void = name in ("closed_at", "closed_by", "state_reason")
            leader = FOLLOWS.get(name, name)
            said = [i for i in ranked if getattr(i, leader) is not None or (void and i.state == "open")]
            row[name] = getattr(said[-1], name) if said else None
        row["updated_at"] = max((i.updated_at for i in ranked if i.updated_at), default=None)
        found[number] = row
    return found


def stored(store: Store, repo: str) -> dict[int, dict[str, object]]:
    """The same columns as the database has them; every key must be there once."""
    names = ("number", *COMPARED, "updated_at")
    times = ", ".join(f"strftime({n}, '%Y-%m-%dT%H:%M:%SZ') AS {n}" for n in ("closed_at", "updated_at"))
    found = rows(
        store, f"SELECT {', '.join(names)} FROM (SELECT * REPLACE ({times}) FROM items WHERE repo = ?)", [repo]
    )
    result: dict[int, dict[str, object]] = {}
    for found_row in found:
        row = dict(zip(names, found_row, strict=True))
        number = row.pop("number")
        assert number not in result, "a key stands twice"
        labels = row["labels"]
        result[number] = row | {"labels": tuple(labels) if labels is not None else None}
    return result


@pytest.fixture(scope="module")
def shared(new_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Store:
    """One store for many examples, each under a repository of its own."""
    path = tmp_path_factory.mktemp("merge") / "e.duckdb"
    shutil.copy(new_database, path)
    return Store(path)


_counter = iter(range(10**9))


SAID = Item(REPO, 1, source="rest", page_id="p")


def parts_of(arrived: list[Item], cuts: list[int]) -> list[list[Item]]:
    edges = [0, *sorted({c % (len(arrived) + 1) for c in cuts}), len(arrived)]
    return [arrived[a:b] for a, b in itertools.pairwise(edges) if a < b]


def commit_in_parts(store: Store, arrived: list[Item], cuts: list[int]) -> tuple[str, str]:
    """Commit the items at once under one repository and in parts under another; return both names."""
    whole, split = f"o/whole{next(_counter)}", f"o/split{next(_counter)}"
    parts = [[replace(i, repo=split) for i in part] for part in parts_of(arrived, cuts)]
    first = [replace(i, repo=whole) for i in arrived] + (parts[0] if parts else [])
    commit(store, Batch(items=first), *(Batch(items=part) for part in parts[1:]))
    return whole, split


@settings(max_examples=example_count(14), suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(items(), min_size=1, max_size=8), st.lists(st.integers(0, 8), max_size=3))
@example(
    [
        replace(SAID, title="first", updated_at=MOMENTS[1]),
        replace(SAID, body="newer than the next title", updated_at=MOMENTS[3]),
        replace(SAID, title="second", updated_at=MOMENTS[2]),
    ],
    [1, 2],
)
@example(
    [
        replace(SAID, state="closed", state_reason="completed", closed_at=MOMENTS[1], updated_at=MOMENTS[1]),
        replace(SAID, state="open", state_reason="reopened", updated_at=MOMENTS[2]),
    ],
    [1],
)
def test_per_column_the_newest_statement_wins_wherever_batches_end(
    shared: Store, arrived: list[Item], cuts: list[int]
) -> None:
    whole, split = commit_in_parts(shared, arrived, cuts)
    expected = merged(arrived)
    assert stored(shared, whole) == expected
    assert stored(shared, split) == expected
    stamps = "SELECT number, stamps FROM items WHERE repo = ? ORDER BY number"
    assert rows(shared, stamps, [whole]) == rows(shared, stamps, [split])


@settings(max_examples=example_count(8), suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(items(), min_size=1, max_size=8), st.lists(st.integers(0, 8), max_size=2), st.randoms())
def test_an_open_item_has_no_closing_time(shared: Store, arrived: list[Item], cuts: list[int], chance: Any) -> None:
    odd = [replace(i, closed_at=chance.choice([None, NOON])) for i in arrived]
    for repo in commit_in_parts(shared, odd, cuts):
        for row in stored(shared, repo).values():
            assert row["state"] != "open" or (row["closed_at"] is None and row["state_reason"] in (None, "reopened"))


def test_a_time_of_the_future_does_not_keep_out_what_github_shows_later(store: Store) -> None:
    def seen(day: int, updated_at: str, title: str, source: str = "rest") -> Item:
        return Item(
            REPO, 1, title=title, updated_at=updated_at, source=source, fetched_at=f"2024-02-{day:02d}T00:00:00Z"
        )

    first = seen(1, "2099-01-01T00:00:00Z", "of the future")
    archived = seen(2, "2024-01-20T00:00:00Z", "archived", "archive")
    right, later = seen(3, NOON, "right"), seen(4, "2024-02-03T12:00:00Z", "later")
    expected = ["of the future", "of the future", "right", "later"]
    query = "SELECT title, updated_at::VARCHAR FROM items ORDER BY ALL"
    for item, title in zip((first, archived, right, later), expected, strict=True):
        commit(store, Batch(items=[item]))
        assert rows(store, query)[0][0] == title
    other = [replace(item, number=2) for item in (first, archived, right)]
    commit(store, Batch(items=other))
    assert rows(store, query) == [("later", "2024-02-03 12:00:00"), ("right", "2024-01-23 12:00:00")]
    said = Comment(
        REPO, 1, "7", body="of the future", updated_at="2099-01-01T00:00:00Z", fetched_at=NOON, source="rest"
    )
    commit(store, Batch(comments=[said]), Batch(comments=[replace(said, body="right", updated_at=NOON)]))
    assert value(store, "SELECT body FROM comments") == "right"


def test_a_replay_of_a_corrected_time_of_the_future_gives_what_the_runs_gave(store: Store) -> None:
    """A replay puts into one transaction what came in several."""

    def said(key: str, updated_at: str, body: str) -> Batch:
        facts = {"body": body, "updated_at": updated_at, "fetched_at": "2024-02-01T13:00:00Z", "source": "rest"}
        one, other, third = Comment(REPO, 1, key), Review(REPO, 1, key), ReviewComment(REPO, 1, key)
        return Batch(
            comments=[replace(one, **facts)],
            reviews=[replace(other, **facts)],
            review_comments=[replace(third, **facts)],
        )

    future = "2099-01-01T00:00:00Z"
    told = [("old", NOON), ("of the future", future), ("right", NOON), ("older", "2024-01-01T00:00:00Z")]
    for length, shown in enumerate(("old", "of the future", "right", "right"), start=1):
        whole = Batch()
        for body, updated_at in told[:length]:
            commit(store, said(f"{length} in parts", updated_at, body))
            whole.extend(said(f"{length} at once", updated_at, body))
        commit(store, whole)
        for table, key in (("comments", "comment_id"), ("reviews", "review_id"), ("review_comments", "comment_id")):
            found = rows(store, f"SELECT body FROM {table} WHERE starts_with({key}, '{length} ')")
            assert found == [(shown,)] * 2, table


def test_the_content_hash_changes_with_title_or_body_and_with_nothing_else(store: Store) -> None:
    hashes = []
    for place, change in enumerate([{"title": "t"}, {"state": "closed"}, {"labels": ("a",)}, {"body": "b"}]):
        commit(store, Batch(items=[Item(REPO, 1, updated_at=MOMENTS[place], **change)]))  # type: ignore[arg-type]
        hashes.append(value(store, "SELECT content_hash FROM items"))
    assert hashes[0] == hashes[1] == hashes[2] != hashes[3]


@settings(max_examples=example_count(8), suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.lists(st.tuples(st.sampled_from("123"), texts), max_size=5), min_size=1, max_size=3),
)
def test_keys_of_comments_and_events_stay_unique_and_the_last_one_wins(
    shared: Store, batches: list[list[tuple[str, str | None]]]
) -> None:
    repo = f"o/keys{next(_counter)}"
    expected: dict[str, str | None] = {}
    made = []
    for batch in batches:
        expected.update({key: text or "" for key, text in batch})
        made.append(
            Batch(
                comments=[Comment(repo, 1, key, body=text or "") for key, text in batch],
                events=[Event(repo, 1, key, "labeled", label=text or "") for key, text in batch],
            )
        )
    commit(shared, *made)
    for query in ("SELECT comment_id, body FROM comments", "SELECT event_id, label FROM events"):
        found = rows(shared, f"{query} WHERE repo = ?", [repo])
        assert sorted(found) == sorted(expected.items())


# ---- transactions -----------------------------------------------------------------------------------------------


def state_of(store: Store) -> tuple[Any, ...]:
    return tuple(value(store, f"SELECT count(*) FROM {t}") for t in ("raw_pages", "items", "sync_state"))


def test_a_batch_whose_last_table_fails_leaves_nothing_of_the_others(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "_CURSOR_INSERT", "SELECT no_such_function(?, ?, ?, ?, ?)")
    batch = Batch(pages=[page()], items=[Item(REPO, 1)], cursors=[cursor()])
    with store.writer("test", create=True) as writer, pytest.raises(StoreError):
        writer.commit(batch)
    assert state_of(store) == (0, 0, 0)
    monkeypatch.undo()
    commit(store, batch)
    assert state_of(store) == (1, 1, 1)


def test_a_page_committed_twice_stands_once(store: Store) -> None:
    same = page(b"[1]")
    commit(store, Batch(pages=[same, page(b"[2]")]), Batch(pages=[same]))
    assert rows(store, "SELECT seq, batch FROM raw_pages ORDER BY seq") == [(1, 1), (2, 1)]


def test_pages_come_back_as_they_were_committed(store: Store) -> None:
    groups = [[page(b"\x00\xff" * 10, "a"), page(b"", "b")], [page(os.urandom(100_000), "c")]]
    commit(store, *(Batch(pages=group) for group in groups))
    assert list(store.pages()) == groups


def test_the_cursor_of_a_stream_is_the_last_one(store: Store) -> None:
    commit(store, Batch(cursors=[cursor("{}"), cursor('{"at": "1"}')]), Batch(cursors=[cursor('{"at": "2"}')]))
    assert store.cursors(REPO, "rest") == {"items": '{"at": "2"}'}
    assert store.cursors(REPO, "graphql") == {}


def row_groups(store: Store) -> int:
    return int(value(store, "SELECT count(DISTINCT row_group_id) FROM pragma_storage_info('items')"))


def test_small_transactions_leave_the_items_alone_and_their_row_groups_are_merged_now_and_then(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "MERGE_EVERY", 5)
    monkeypatch.setattr(writing, "MERGE_LEAST", 1)
    with store.writer("test") as writer:
        counts = []
        for number in range(1, 8):
            writer.commit(Batch(items=[Item(REPO, number)]))
            counts.append(row_groups(store))
    assert max(counts) > 2, "not merged at each closing of the file"
    assert counts[-1] < 4, "merged in between"
    assert row_groups(store) == 1, "merged at the end"


# ---- lock and readers -------------------------------------------------------------------------------------------

HOLD_LOCK = """
    import sys, time
    from pathlib import Path
    from torch_embers.store.store import Store
    with Store(Path(sys.argv[1])).writer("embers mine --source test", create=True):
        print("ready", flush=True)
        sys.stdin.read()
"""
HOLD_FILE = """
    import sys
    from pathlib import Path
    from torch_embers.store.store import Store
    with Store(Path(sys.argv[1])).writer("embers mine --source test", create=True) as writer, writer.transaction():
        print("ready", flush=True)
        sys.stdin.read()
"""
WRITE_ON = """
    import sys, time
    from pathlib import Path
    from torch_embers.store.records import Batch, Item
    from torch_embers.store.store import Store
    with Store(Path(sys.argv[1])).writer("embers mine --source test", create=True) as writer:
        number = 0
        while True:
            number += 1
            writer.commit(Batch(items=[Item("o/r", number, title="t", state="open"), Item("o/s", number)]))
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
    commit(store, Batch(items=[Item(REPO, 1)]))
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
                store, "SELECT count(*) FILTER (repo = 'o/r'), count(*) FILTER (repo = 'o/s') FROM items"
            )
            assert left == right
            seen.append(left)
    assert seen == sorted(seen)


KEEP_OPEN = """
    import sys
    import duckdb
    connection = duckdb.connect(sys.argv[1], read_only=True)
    print("ready", flush=True)
    sys.stdin.read()
"""
MANY_READERS = """
    import os, sys, time
    from pathlib import Path
    from torch_embers.store.store import Store
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
        commit(store, Batch(items=[Item(REPO, 1)]))
        timer.join()
    [line] = caplog.messages
    assert f"in use by process {reader.pid} (`" in line
    assert "import duckdb" in line, "its command line"


def test_a_writer_that_waited_in_vain_names_the_reader_and_not_itself(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "WRITE_PATIENCE", 0.3)
    with python(KEEP_OPEN, store.path) as reader, pytest.raises(StoreBusyError) as caught:
        commit(store, Batch(items=[Item(REPO, 1)]))
    assert f"process {reader.pid} (`" in str(caught.value)
    assert "`test`" not in str(caught.value), "the purpose of the writer"


def test_a_connection_of_the_same_process_is_named_as_such(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "OWN_PATIENCE", 0.3)
    with store.read(), pytest.raises(StoreBusyError, match=rf"this process \({os.getpid()}\) itself: close"):
        commit(store, Batch(items=[Item(REPO, 1)]))


def test_a_reader_that_keeps_the_file_open_does_not_stop_other_readers_while_a_writer_waits(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "YIELD", 0.3)
    with python(KEEP_OPEN, store.path) as reader:
        waiting = threading.Thread(target=commit, args=[store, Batch(items=[Item(REPO, 1)])])
        waiting.start()
        eventually(lambda: turn_is_taken(store.path))
        with python(COUNT, store.path) as second:
            assert second.wait(20) == 0
        assert reader.stdin is not None
        reader.stdin.close()
        waiting.join()
    assert state_of(store) == (0, 1, 0)


COUNT = """
    import sys
    from pathlib import Path
    from torch_embers.store.store import Store
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
        writer.commit(Batch(items=[Item(REPO, 1)]))
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
        [sys.executable, "-c", textwrap.dedent(MANY_READERS), store.path, "100"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as readers:
        try:
            assert readers.stdout is not None
            assert readers.stdout.readline().strip() == "ready"
            time.sleep(2)
            commit(store, *(Batch(items=[Item(REPO, number)]) for number in range(1, 6)))
        finally:
            os.killpg(readers.pid, signal.SIGKILL)
    assert state_of(store) == (0, 5, 0)


READ_ALL = """
    import sys
    from pathlib import Path
    from torch_embers.errors import InputError, StoreError
    from torch_embers.store.store import Store
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
    command = [sys.executable, "-c", textwrap.dedent(READ_ALL), str(filled_database), *names]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    whole, *outcomes = done.stdout.splitlines()
    assert len(outcomes) == len(names)
    assert set(outcomes) <= {whole, "StoreCorruptError"}
    assert "StoreCorruptError" in outcomes


def versions(store: Store) -> list[int]:
    return [int(row[0]) for row in rows(store, "SELECT version FROM schema_version")]


def test_migrations_are_applied_once_and_in_order(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    commit(store, Batch(items=[Item(REPO, 1, title="kept")]))
    before = versions(store)
    monkeypatch.setattr(schema, "migrations", lambda: REAL | {NOW + 1: STEPS[NOW + 1]})
    commit(store)
    monkeypatch.setattr(schema, "migrations", lambda: REAL | STEPS)
    commit(store)
    commit(store)
    assert rows(store, "SELECT step FROM log") == [(1,), (2,), (3,)]
    assert versions(store) == [*before, NOW + 1, NOW + 2, NOW + 3]
    assert rows(store, "SELECT title, two FROM items") == [("kept", None)]


def test_a_failing_migration_leaves_the_old_version_and_all_data(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    commit(store, Batch(items=[Item(REPO, 1, title="kept")]))
    broken = {NOW + 4: "DROP TABLE log; DROP TABLE no_such_table"}
    monkeypatch.setattr(schema, "migrations", lambda: REAL | STEPS | broken)
    with pytest.raises(StoreError):
        commit(store)
    monkeypatch.undo()
    assert max(versions(store)) == NOW
    assert rows(store, "SELECT title FROM items") == [("kept",)]
    assert rows(store, "FROM duckdb_tables() WHERE table_name = 'log'") == []


# ---- a full disk ------------------------------------------------------------------------------------------------

FILL = """
    import os, resource, sys
    from pathlib import Path
    from torch_embers.errors import StoreFullError
    from torch_embers.store.records import Batch, Item, SyncState
    from torch_embers.store.store import Store
    from torch_embers.mine.pages import make_page
    path, limit = Path(sys.argv[1]), int(sys.argv[2])
    if limit:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    print("ready", flush=True)
    try:
        with Store(path).writer("embers mine", create=True) as writer:
            done = int(Store(path).cursors("o/r", "rest").get("items", 0))
            for place in range(done + 1, 11):
                noise = os.urandom(600_000)
                page = make_page("o/r", "rest", "rest.items", str(place), noise)
                state = SyncState("o/r", "rest", "items", str(place), page.fetched_at)
                item = Item("o/r", place, title="t", body=noise[:50_000].hex())
                writer.commit(Batch(pages=[page], items=[item], cursors=[state]))
                print(place, flush=True)
        print("done")
    except StoreFullError as error:
        print("full:", error)
"""


def fill(path: Path, limit: int = 0) -> tuple[int, str]:
    """Write until the disk is full; return the last committed place and the last line."""
    command = [sys.executable, "-c", textwrap.dedent(FILL), str(path), str(limit)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr[-3000:]
    said = done.stdout.splitlines()[1:]
    return max((int(line) for line in said if line.isdigit()), default=0), said[-1]


def assert_whole_up_to(store: Store, place: int) -> None:
    """Pages, items and cursor end at the same place: nothing half-written."""
    assert value(store, "SELECT count(*) FROM items WHERE length(body) = 100000") == place
    assert value(store, "SELECT max(number) FROM items") == place
    assert value(store, "SELECT count(*) FROM raw_pages") == place
    assert store.cursors("o/r", "rest") == {"items": str(place)}
    assert sum(len(group) for group in store.pages()) == place


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


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A file system of 4 MB."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["mount", "-t", "tmpfs", "-o", "size=4m", "embers-test", folder]
        try:
            mounted = subprocess.run(command, capture_output=True, text=True, timeout=10)
        except OSError as error:
            pytest.skip(f"no mount command: {error}")
        if mounted.returncode:
            pytest.skip(f"mounting is not permitted here: {mounted.stderr.strip()}")
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", folder], check=True, timeout=10)


def test_a_full_disk_keeps_every_whole_batch_and_the_next_run_completes(
    new_database: Path, small_disk: Path, tmp_path: Path
) -> None:
    path = small_disk / "e.duckdb"
    shutil.copy(new_database, path)
    assert_full_then_completed(path, fill(path), tmp_path / "moved.duckdb")


# ---- text -------------------------------------------------------------------------------------------------------


@settings(max_examples=example_count(8), suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.text(st.characters(codec=None)), min_size=1, max_size=20))
def test_any_text_is_stored_as_it_was_cleaned(shared: Store, bodies: list[str]) -> None:
    repo = f"o/text{next(_counter)}"
    cleaned = [clean_text(b) for b in bodies]
    commit(shared, Batch(items=[Item(repo, n, title=t, body=t) for n, t in enumerate(cleaned, 1)]))
    assert [r[0] for r in rows(shared, "SELECT body FROM items WHERE repo = ? ORDER BY number", [repo])] == cleaned


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
