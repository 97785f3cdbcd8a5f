"""Exports: the same rows in every format, whole files only, also while a writer is at work."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import pytest

from helpers.export import (
    TEXTS,
    store,  # noqa: F401 - fixtures
)
from torch_embers.errors import EmbersError, InputError, StoreMissingError
from torch_embers.store.export import FORMATS, TABLES, export
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from pathlib import Path


def read_back(path: Path, names: list[str]) -> list[tuple[Any, ...]]:
    reader = {
        ".parquet": f"read_parquet('{path}')",
        ".csv": f"read_csv('{path}', header=true, all_varchar=true, allow_quoted_nulls=false)",
        ".jsonl": f"read_json('{path}', format='newline_delimited', maximum_object_size=10000000)",
    }[path.suffix]
    return duckdb.execute(f"SELECT {', '.join(names)} FROM {reader} ORDER BY number::INTEGER").fetchall()


@pytest.mark.parametrize("form", FORMATS)
def test_items_come_back_as_they_are(store: Store, tmp_path: Path, form: str) -> None:
    export(store, tmp_path, form, ("items",))
    found = read_back(tmp_path / f"items.{form}", ["title", "body", "number::INTEGER", "is_draft::BOOLEAN"])
    draft = [None, True, False]
    assert found == [(t, t, n, draft[n % 3]) for n, t in enumerate(TEXTS, start=1)]


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_lists_and_times_keep_their_type(store: Store, tmp_path: Path, form: str) -> None:
    export(store, tmp_path, form, ("items",))
    found = read_back(tmp_path / f"items.{form}", ["labels", "epoch_us(created_at::TIMESTAMP)"])
    labels = [None, [], ["a, b", 'c"d', "it's"]]
    assert [row[0] for row in found] == [labels[n % 3] for n in range(1, len(TEXTS) + 1)]
    assert {row[1] for row in found} == {1706011200123456}


def test_pandas_reads_the_same_rows_from_all_formats(store: Store, tmp_path: Path) -> None:
    for form in FORMATS:
        export(store, tmp_path, form, ("items", "labels", "comments"))
    for table, key in (("items", "number"), ("labels", "name"), ("comments", "body")):
        parquet = pd.read_parquet(tmp_path / f"{table}.parquet")
        csv = pd.read_csv(tmp_path / f"{table}.csv", keep_default_na=False, dtype=str)
        lines = pd.read_json(tmp_path / f"{table}.jsonl", lines=True, dtype=False)
        assert list(parquet.columns) == list(csv.columns) == list(lines.columns)
        expected = sorted(map(str, parquet[key]))
        assert sorted(csv[key]) == expected
        assert sorted(map(str, lines[key])) == expected


def test_each_line_of_jsonl_is_an_object(store: Store, tmp_path: Path) -> None:
    export(store, tmp_path, "jsonl", ("items",))
    objects = [json.loads(line) for line in (tmp_path / "items.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [o["title"] for o in objects] == TEXTS


def test_exporting_again_replaces_the_files_and_leaves_strangers_alone(store: Store, tmp_path: Path) -> None:
    (tmp_path / "items.csv").write_text("old")
    (tmp_path / "items.csv.part").write_text("left by a crash")
    (tmp_path / "mine.txt").write_text("mine")
    export(store, tmp_path, "csv", ("items",))
    assert {p.name for p in tmp_path.iterdir()} == {"items.csv", "mine.txt"}
    assert (tmp_path / "items.csv").read_text().startswith("repo,number")


def test_raw_pages_are_exported_on_request_only(store: Store, tmp_path: Path) -> None:
    assert "raw_pages" not in TABLES
    export(store, tmp_path, "parquet", ("raw_pages",))
    assert (tmp_path / "raw_pages.parquet").is_file()


def test_a_folder_name_with_a_quote_is_no_sql(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "o'hara\"); DROP TABLE items; --"
    assert [d.rows for d in export(store, folder, "csv", ("rejects",))] == [1]


def test_an_unknown_format_is_named_with_the_known_ones(store: Store, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"--format 'xlsx': one of parquet, csv, jsonl"):
        export(store, tmp_path, "xlsx")


@pytest.mark.parametrize("table", ["secrets", "items; DROP TABLE items", "sync_state"])
def test_an_unknown_table_is_refused_before_anything_is_written(store: Store, tmp_path: Path, table: str) -> None:
    with pytest.raises(InputError, match="no table"):
        export(store, tmp_path / "out", "csv", ("items", table))
    assert not (tmp_path / "out").exists()


def test_a_target_that_is_a_file_is_a_clear_error(store: Store, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="--to"):
        export(store, tmp_path / "file", "csv")


def test_a_file_that_cannot_be_replaced_is_a_clear_error_and_leaves_no_part(store: Store, tmp_path: Path) -> None:
    (tmp_path / "items.csv" / "folder").mkdir(parents=True)
    with pytest.raises(InputError, match=r"items\.csv"):
        export(store, tmp_path, "csv", ("items",))
    assert [p.name for p in tmp_path.iterdir()] == ["items.csv"]


def test_a_part_that_cannot_be_written_is_a_clear_error_about_the_target(store: Store, tmp_path: Path) -> None:
    (tmp_path / "items.csv.part").mkdir()
    with pytest.raises(InputError, match=r"items\.csv"):
        export(store, tmp_path, "csv", ("items",))


def test_exporting_without_a_database_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(StoreMissingError, match="embers mine"):
        export(Store(tmp_path / "none.duckdb"), tmp_path / "out", "csv")


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


@pytest.mark.parametrize(
    "statement",
    [
        "COPY (SELECT 1) TO '{}'",
        "ATTACH '{}' AS other",
        "SELECT * FROM read_csv('{}')",
        "SET enable_external_access = true",
    ],
)
def test_no_statement_reaches_another_file(store: Store, tmp_path: Path, statement: str) -> None:
    with store.read() as connection, pytest.raises((duckdb.Error, EmbersError)):
        connection.execute(statement.format(tmp_path / "other"))
    assert not (tmp_path / "other").exists()
