"""Exports: the same rows in every format, whole files only, also while a writer is at work."""

from __future__ import annotations

import shutil
from datetime import datetime
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpers.rows import Comment, Event, Item, Row, put
from support import example_count
from torch_embers.errors import EmbersError, InputError
from torch_embers.store.export import FORMATS, export
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from pathlib import Path

REPO = "pytorch/pytorch"
TEXTS = ["plain", "", None, 'a "quoted", text', "two\r\nlines\n", "NULL", "é 🔥 \\ \t", "'", "-1", "x" * 100_000]
DRAFTS, LABELS = (None, True, False), (None, (), ("a, b", 'c"d', "it's"))
DAY = "2024-01-23T12:00:00.123456Z"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A database with every awkward text."""
    store = Store(tmp_path_factory.mktemp("export") / "it's.duckdb")
    items = [
        Item(REPO, n, title=text, body=text, is_draft=DRAFTS[n % 3], created_at=DAY, labels=LABELS[n % 3])
        for n, text in enumerate(TEXTS, start=1)
    ]
    with store.writer("test", create=True) as writer:
        put(writer, items=items)
    return store


def read_back(path: Path, names: list[str]) -> list[tuple[Any, ...]]:
    reader = {
        ".parquet": f"read_parquet('{path}')",
        ".csv": f"read_csv('{path}', header=true, all_varchar=true, allow_quoted_nulls=false)",
        ".jsonl": f"read_json('{path}', format='newline_delimited', maximum_object_size=10000000)",
    }[path.suffix]
    return duckdb.execute(f"SELECT {', '.join(names)} FROM {reader} ORDER BY number::INTEGER").fetchall()


@pytest.mark.parametrize("form", FORMATS)
def test_items_come_back_as_they_are_and_lists_and_times_with_type(store: Store, tmp_path: Path, form: str) -> None:
    export(store, tmp_path, form, ("items",))
    path = tmp_path / f"items.{form}"
    found = read_back(path, ["title", "body", "number::INTEGER", "is_draft::BOOLEAN"])
    assert found == [(t, t, n, DRAFTS[n % 3]) for n, t in enumerate(TEXTS, start=1)]
    if form != "csv":
        day = datetime.fromisoformat(DAY).replace(tzinfo=None)
        lists = [None if LABELS[n % 3] is None else list(LABELS[n % 3]) for n in range(1, len(TEXTS) + 1)]
        assert read_back(path, ["labels", "created_at::TIMESTAMP"]) == [(found, day) for found in lists]


def test_exporting_again_replaces_the_files_and_leaves_strangers_alone(store: Store, tmp_path: Path) -> None:
    (tmp_path / "items.csv").write_text("old")
    (tmp_path / "items.csv.part").write_text("left by a crash")
    (tmp_path / "mine.txt").write_text("mine")
    export(store, tmp_path, "csv", ("items",))
    assert {p.name for p in tmp_path.iterdir()} == {"items.csv", "mine.txt"}
    assert (tmp_path / "items.csv").read_text().startswith("repo,number")


@pytest.mark.parametrize(
    ("form", "table", "said"),
    [
        ("xlsx", "items", r"--format 'xlsx': one of parquet, csv, jsonl"),
        ("csv", "secrets", "no table"),
        ("csv", "items; DROP TABLE items", "no table"),
        ("csv", "sync_state", "no table"),
    ],
)
def test_unknown_formats_and_tables_are_refused(store: Store, tmp_path: Path, form: str, table: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        export(store, tmp_path / "out", form, ("items", table))
    assert not (tmp_path / "out").exists()


def test_a_place_that_cannot_be_written_is_a_clear_error_and_leaves_no_part(store: Store, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "a" / "items.csv" / "folder").mkdir(parents=True)
    (tmp_path / "b" / "items.csv.part").mkdir(parents=True)
    for place, said in (("file", "--to"), ("a", r"items\.csv"), ("b", r"items\.csv")):
        with pytest.raises(InputError, match=said):
            export(store, tmp_path / place, "csv", ("items",))
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["items.csv"]


def test_a_view_of_a_foreign_database_reads_no_file_of_this_machine(store: Store, tmp_path: Path) -> None:
    """Whoever made the database wrote the view; it names a file of whoever exports it."""
    foreign = Store(shutil.copy(store.path, tmp_path / "foreign.duckdb"))
    secret = tmp_path / "secret"
    secret.write_text("not to be exported", encoding="ascii")
    with duckdb.connect(str(foreign.path)) as connection:
        connection.execute("DROP VIEW funnel")
        connection.execute(f"CREATE VIEW funnel AS SELECT content FROM read_text('{secret}')")
    with pytest.raises(EmbersError, match="file system operations are disabled"):
        export(foreign, tmp_path / "out", "csv", ("funnel",))
    assert not list((tmp_path / "out").glob("*"))


def test_no_statement_may_allow_itself_other_files(store: Store) -> None:
    """That COPY, ATTACH and readers of files are refused is a promise."""
    with store.read() as connection, pytest.raises((duckdb.Error, EmbersError)):
        connection.execute("SET enable_external_access = true")


def shuffled(path: Path, to: Path, salt: int) -> Store:
    """An equal database whose rows came in another order."""
    with duckdb.connect(shutil.copy(path, to)) as connection:
        for table in ("items", "comments", "events"):
            connection.execute(f"CREATE OR REPLACE TEMP TABLE held AS FROM {table} ORDER BY hash(rowid + {salt})")
            connection.execute(f"DELETE FROM {table}")
            connection.execute(f"INSERT INTO {table} FROM held")
    return Store(to)


rows_of_items = st.lists(
    st.builds(
        Item,
        st.sampled_from(["o/a", "o/B"]),
        st.integers(1, 20),
        title=st.sampled_from([None, "", "a", "A", "=1"]),
        labels=st.sampled_from([None, (), ("a", "b")]),
    ),
    min_size=2,
    unique_by=lambda item: (item.repo, item.number),
)


@settings(max_examples=example_count(4), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows_of_items, st.integers(0, 9))
def test_equal_databases_give_equal_files_whatever_the_order_of_their_rows(
    new_database: Path, tmp_path: Path, items: list[Row], salt: int
) -> None:
    first = Store(shutil.copy(new_database, tmp_path / "first.duckdb"))
    events = [Event(item.repo, item.number, f"{n}", "labeled", label="a") for n, item in enumerate(items)]
    comments = [Comment(item.repo, item.number, f"{n}", body=item.title or "") for n, item in enumerate(items)]
    with first.writer("test") as writer:
        put(writer, items=items, events=events, comments=comments)
    other = shuffled(first.path, tmp_path / "other.duckdb", salt)
    for form in FORMATS:
        files = []
        for store in (first, other):
            made = export(store, tmp_path / store.path.stem, form, ("items", "labels", "events", "comments"))
            files.append([one.path.read_bytes() for one in made])
        assert files[0] == files[1], form
