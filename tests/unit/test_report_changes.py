"""What a report says has changed since the one that stood in its folder, and that no earlier report is an error."""

from __future__ import annotations

import json
import shutil
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from report_data import hostile
from torch_embers.report import command, folder, since
from torch_embers.report.tables import schema
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

REPO = "pytorch/pytorch"


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory, catalog_template: Path) -> Path:
    """A small database with hostile texts."""
    return hostile(catalog_template, tmp_path_factory.mktemp("changes") / "e.duckdb")


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory, database: Path) -> Path:
    """A first report of it."""
    out = tmp_path_factory.mktemp("first") / "site"
    done = command.report(Store(database), command.Request(out))
    assert (done.compared, done.changes) == (since.FIRST, {})
    return out


def test_another_verdict_is_a_change_and_another_release_alone_is_none() -> None:
    row = {"repo": REPO, "number": 1, "title": "t", "state": "open", "disposition": None, "release": "2.14.0"}
    was = table("items", [row | {"verdict": "occurs"}, row | {"number": 2, "verdict": "occurs"}])
    now = table(
        "items",
        [
            row | {"verdict": "absent", "release": "2.15.0"},
            row | {"number": 2, "verdict": "occurs", "release": "2.15.0"},
        ],
    )
    empty = schema("statuses").empty_table()
    found = list(since._changes({"items": was, "statuses": empty}, {"items": now, "statuses": empty}))
    assert [(row["number"], row["what"], row["before"], row["after"]) for row in found] == [
        (1, "verdict", "occurs on 2.14.0", "absent on 2.15.0")
    ]


def table(name: str, rows: list[dict[str, Any]]) -> pa.Table:
    """A data file's rows; columns that are not named are null."""
    fields = schema(name)
    return pa.Table.from_pylist([dict.fromkeys(fields.names) | row for row in rows], schema=fields)


def other_items(out: Path, rows: pa.Table) -> None:
    pq.write_table(rows, out / "data" / "items.parquet")


def truncated(out: Path) -> None:
    path = out / "data" / "items.parquet"
    path.write_bytes(path.read_bytes()[:-40])


BROKEN: dict[str, tuple[Callable[[Path], Any], str]] = {
    "no data": (lambda out: shutil.rmtree(out / "data"), "it has no data/items.parquet"),
    "a folder": (
        lambda out: ((out / "data" / "items.parquet").unlink(), (out / "data" / "items.parquet").mkdir()),
        "it has no data/items.parquet",
    ),
    "truncated": (truncated, "its data/items.parquet cannot be read"),
    "empty file": (
        lambda out: (out / "data" / "statuses.parquet").write_bytes(b""),
        "its data/statuses.parquet cannot be read",
    ),
    "no column": (
        lambda out: other_items(out, pa.table({"repo": ["a/b"], "number": [1]})),
        "its data/items.parquet has no column title",
    ),
    "other type": (
        lambda out: other_items(out, pa.table({name: ["x"] for name in since.COMPARED["items"]})),
        "its data/items.parquet cannot be read",
    ),
    "no number": (
        lambda out: other_items(
            out, pa.table({name: pa.array([None], pa.string()) for name in since.COMPARED["items"]})
        ),
        "its data/items.parquet has rows without an item",
    ),
    "nothing kept": (
        lambda out: (out / "data" / "changes.parquet").unlink(),
        "it has no data/changes.parquet",
    ),
}


@pytest.mark.parametrize("what", BROKEN)
def test_an_earlier_report_that_cannot_be_read_is_no_error_but_named(first: Path, tmp_path: Path, what: str) -> None:
    out = tmp_path / "site"
    shutil.copytree(first, out)
    tables = {name: pq.read_table(out / "data" / f"{name}.parquet") for name in since.COMPARED}
    newest = datetime.fromisoformat(json.loads((out / folder.MARK).read_text())["newest"])
    breaking, reason = BROKEN[what]
    breaking(out)
    found = since.compare(out, tables, newest)
    assert (found.reason, found.by_kind()) == (reason, {})
