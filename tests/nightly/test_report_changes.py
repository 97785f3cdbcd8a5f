"""What a report says has changed since the one that stood in its folder, and that no earlier report is an error."""

from __future__ import annotations

import json
import shutil
from datetime import datetime
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from report_data import HOSTILE, NUMBER, hostile_database  # noqa: F401 - a fixture
from support import run_embers
from torch_embers.report import folder, since, write_report
from torch_embers.report.tables import schema
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from pathlib import Path

REPO = "pytorch/pytorch"


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory, hostile_database: Path) -> Path:
    """A first report of it."""
    out = tmp_path_factory.mktemp("first") / "site"
    done = write_report.report(Store(hostile_database), write_report.Request(out))
    assert (done.compared, done.changes) == (since.FIRST, {})
    assert "This is the first report in its folder" in overview(out)
    assert json.loads((out / "data" / "changes.json").read_text()) == []
    return out


def overview(out: Path) -> str:
    return (out / "index.html").read_text(encoding="utf-8")


def contents(out: Path) -> dict[Path, bytes]:
    return {path.relative_to(out): path.read_bytes() for path in out.rglob("*") if path.is_file()}


def test_changed_new_and_gone_items_are_counted_and_listed(first: Path, hostile_database: Path, tmp_path: Path) -> None:
    out, later = tmp_path / "site", shutil.copy(hostile_database, tmp_path / "e.duckdb")
    shutil.copytree(first, out)
    with duckdb.connect(later) as connection:
        [gone], [closed] = connection.execute(
            "(SELECT number FROM items WHERE state = 'closed' AND number <> $1 ORDER BY number LIMIT 1) UNION ALL "
            "(SELECT number FROM items WHERE state = 'open' AND number <> $1 ORDER BY number DESC LIMIT 1)",
            [NUMBER],
        ).fetchall()
        connection.execute("UPDATE items SET number = 999999, title = ? WHERE number = ?", [HOSTILE[0], gone])
        connection.execute("UPDATE items SET state = 'closed' WHERE number = ?", [closed])
        [(status,)] = connection.execute(
            "SELECT status FROM statuses WHERE number = ? AND backend = 'cpu'", [NUMBER]
        ).fetchall()
        connection.execute(
            "INSERT INTO status_history BY NAME SELECT * REPLACE ('regressed' AS status, now()::TIMESTAMP AS decided_at) "
            "FROM status_history WHERE number = ? AND backend = 'cpu' ORDER BY decided_at DESC LIMIT 1",
            [NUMBER],
        )
    done = run_embers("report", "--database", later, "--out", out)
    assert done.returncode == 0, done.stderr
    said = "1 status changed, 1 state or reason of closing changed, 1 new item, 1 item gone"
    assert f"since the report that was there: {said}\n" in done.stdout
    rows = {row["what"]: row for row in json.loads((out / "data" / "changes.json").read_text(encoding="utf-8"))}
    assert {what: row["number"] for what, row in rows.items()} == {
        "status": NUMBER,
        "disposition": closed,
        "gone": gone,
        "new": 999999,
    }
    assert (rows["status"]["before"], rows["status"]["after"]) == (status, "regressed")
    assert rows["disposition"]["before"] == "open"
    text = overview(out)
    assert '<a href="#since-status">1 status changed</a>' in text
    assert text.count('<details id="since-') == 4
    assert "&lt;script&gt;globalThis.hit" in text
    assert "<script>globalThis" not in text


def test_another_verdict_or_answer_is_a_change_and_another_release_alone_is_none() -> None:
    row = {"repo": REPO, "number": 1, "title": "t", "state": "open", "release": "2.14.0", "closable": "no"}
    later = row | {"release": "2.15.0"}
    was = table("items", [row | {"verdict": "occurs"}, row | {"number": 2, "verdict": "occurs"}])
    now = table("items", [later | {"verdict": "absent", "closable": "yes"}, later | {"number": 2, "verdict": "occurs"}])
    empty = schema("statuses").empty_table()
    found = since.changes({"items": was, "statuses": empty}, {"items": now, "statuses": empty}).to_pylist()
    assert [(row["number"], row["what"], row["before"], row["after"]) for row in found] == [
        (1, "answer", "closable: no", "closable: yes"),
        (1, "verdict", "occurs on 2.14.0", "absent on 2.15.0"),
    ]


def table(name: str, rows: list[dict[str, Any]]) -> pa.Table:
    """A data file's rows; columns that are not named are null."""
    fields = schema(name)
    return pa.Table.from_pylist([dict.fromkeys(fields.names) | row for row in rows], schema=fields)


def test_the_same_data_change_nothing_and_keep_what_changed(
    first: Path, hostile_database: Path, tmp_path: Path
) -> None:
    out, later = tmp_path / "site", shutil.copy(hostile_database, tmp_path / "e.duckdb")
    shutil.copytree(first, out)
    write_report.report(Store(hostile_database), write_report.Request(out))
    assert contents(out) == contents(first), "the same data change no byte"
    with duckdb.connect(later) as connection:
        connection.execute("UPDATE items SET number = 999999 WHERE number = ?", [NUMBER])
    done = write_report.report(Store(later), write_report.Request(out))
    assert done.changes == {"new": 1, "gone": 1}
    before = contents(out)
    assert write_report.report(Store(later), write_report.Request(out)).changes == done.changes
    assert contents(out) == before


ITEMS = "data/items.parquet"
NO_ITEM = pa.table({name: pa.array([None], pa.string()) for name in since.COMPARED["items"]})
BROKEN: list[tuple[str, pa.Table | bytes | None, str]] = [
    # what lies in the place of a file of the earlier report, and what is said of it
    (ITEMS, None, "it has no data/items.parquet"),
    ("data/changes.parquet", None, "it has no data/changes.parquet"),
    (ITEMS, b"PAR1", "its data/items.parquet cannot be read"),
    ("data/statuses.parquet", b"", "its data/statuses.parquet cannot be read"),
    (ITEMS, pa.table({"repo": ["a/b"], "number": [1]}), "its data/items.parquet has no column title"),
    (ITEMS, pa.table({name: ["x"] for name in since.COMPARED["items"]}), "its data/items.parquet cannot be read"),
    (ITEMS, NO_ITEM, "its data/items.parquet has rows without an item"),
]


def test_an_earlier_report_that_cannot_be_read_is_no_error_but_named(first: Path, tmp_path: Path) -> None:
    tables = {name: pq.read_table(first / "data" / f"{name}.parquet") for name in since.COMPARED}
    newest = datetime.fromisoformat(json.loads((first / folder.MARK).read_text())["newest"])
    for place, (name, content, reason) in enumerate(BROKEN):
        out = shutil.copytree(first, tmp_path / str(place))
        (out / name).unlink()
        if isinstance(content, bytes):
            (out / name).write_bytes(content)
        elif content is not None:
            pq.write_table(content, out / name)
        found = since.compare(out, tables, newest)
        assert (found.reason, found.by_kind()) == (reason, {})


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"newest": "<b>", "embers": ["<i>"]}, ""),
        (
            {"comparison": {"reason": "<script>alert(1)</script>", "since": 3, "version": {}}},
            "<script>alert(1)</script>",
        ),
    ],
)
def test_what_an_earlier_report_says_of_itself_is_text(
    first: Path, hostile_database: Path, tmp_path: Path, changed: dict[str, Any], reason: str
) -> None:
    out = tmp_path / "site"
    shutil.copytree(first, out)
    about = json.loads((out / folder.MARK).read_text())
    (out / folder.MARK).write_text(json.dumps(about | changed))
    assert write_report.report(Store(hostile_database), write_report.Request(out)).compared == reason
    text = overview(out)
    assert "<script>alert" not in text
    assert "<b>" not in text
    assert "<i>" not in text
