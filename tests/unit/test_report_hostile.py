"""The report of databases and files that are hostile, odd or broken: an inert page, or one clear line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from torch_embers.cli import app
from torch_embers.errors import InputError
from torch_embers.report import hunt_map, study_files

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
CALL: dict[str, Any] = dict.fromkeys(hunt_map.COLUMNS, "") | dict.fromkeys(hunt_map.COUNTS, 0)
CALL |= {"build": "2.15.0", "op": "add", "mode": "forward", "layout": "sliced", "tested": 1}


@pytest.mark.parametrize("words", ["status", "data funnel", "search conv", "list", "report", "data export --to out"])
def test_a_duckdb_file_of_somebody_else_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "mine.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE x (a INTEGER)")
    done = CliRunner().invoke(app, [*words.split(), "--database", str(path)])
    assert isinstance(done.exception, InputError)
    assert str(done.exception) == f"{path} holds no tables of embers: name its database, `embers mine` makes a new one"


def corrupt(path: Path) -> None:
    pq.write_table(pa.Table.from_pylist([CALL] * 1000), path, compression="zstd")
    body = bytearray(path.read_bytes())
    body[10:60] = b"\xff" * 50
    path.write_bytes(bytes(body))


def truncated(path: Path) -> None:
    pq.write_table(pa.Table.from_pylist([CALL]), path)
    path.write_bytes(path.read_bytes()[:-20])


def rows(**changed: Any) -> Callable[[Path], None]:
    return lambda path: pq.write_table(pa.Table.from_pylist([CALL, CALL | changed]), path)


@pytest.mark.parametrize(
    ("write", "said"),
    [
        (lambda path: path.write_bytes(b""), "cannot be read"),
        (truncated, "cannot be read"),
        (corrupt, "cannot be read"),
        (lambda path: pq.write_table(pa.table({"x": [1]}), path), "no column build"),
        (lambda path: pq.write_table(pa.Table.from_pylist([dict.fromkeys(CALL, "x")]), path), "cannot be read"),
        (rows(tested=None), "rows without a tested"),
        (rows(op=None), "rows without a op"),
        (lambda path: pq.write_table(pa.Table.from_pylist([CALL | {"tested": float("nan")}]), path), "cannot be read"),
    ],
)
def test_a_broken_coverage_map_is_one_line(tmp_path: Path, write: Callable[[Path], Any], said: str) -> None:
    write(tmp_path / hunt_map.FILE)
    with pytest.raises(InputError) as caught:
        hunt_map.read(tmp_path)
    assert said in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
    assert str(caught.value).endswith("`embers research hunt coverage` writes it anew")


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "[]",
        '{"as_of": "x", "items": Infinity, "figures": []}',
        '{"as_of": "x", "items": 3, "figures": 3}',
        '{"as_of": "x", "items": 3, "figures": [{"id": "t", "heading": "h"}]}',
        '{"as_of": "x", "items": 3, "figures": [{"id": "t", "heading": "h", "notes": 3}]}',
        "\x00",
    ],
)
def test_a_broken_study_is_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / study_files.SUMMARY).write_text(text)
    with pytest.raises(InputError, match="embers study") as caught:
        study_files.read(tmp_path)
    assert len(str(caught.value).splitlines()) == 1


def test_a_study_names_no_file_outside_its_folder(tmp_path: Path) -> None:
    study = tmp_path / "study"
    study.mkdir()
    (tmp_path / "secret.csv").write_text("a,b\n")
    figure = {"id": "../secret", "heading": "h", "notes": []}
    (study / study_files.SUMMARY).write_text(json.dumps({"as_of": "x", "items": 1, "figures": [figure]}))
    found = study_files.read(study)
    assert found is not None
    assert found.figures[0].files == []
