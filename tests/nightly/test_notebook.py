"""The notebook: executed in order, reproducible, without hidden state or numbers typed by hand; and what it stands on."""

from __future__ import annotations

import json
from datetime import date
from typing import TYPE_CHECKING

import pytest

from helpers.notebook import ROOT, notebook, small, tool  # noqa: F401 - fixtures
from torch_embers import study
from torch_embers.errors import InputError
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

nbformat = pytest.importorskip("nbformat", reason="the extra `study` is not installed")


@pytest.fixture(scope="module")
def catalog(catalog_template: Path) -> Path:
    """A database of the embedded catalog."""
    return catalog_template


@pytest.fixture(scope="module")
def reading(catalog: Path) -> study.Reading:
    return study.read(catalog)


def test_a_notebook_is_executed_and_written_whole(tool: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "n.ipynb"
    tool.write(small(tool, "a = 6", "a * 7"), path)
    assert tool.main([str(path)]) == 0
    done = nbformat.read(path, as_version=4)
    assert [cell.execution_count for cell in done.cells] == [1, 2]
    assert done.cells[1].outputs[0]["data"]["text/plain"] == "42"
    assert tool.main([str(path), "--check"]) == 0
    assert [p.name for p in tmp_path.iterdir()] == ["n.ipynb"]


def test_a_failing_cell_is_named_in_one_line_and_nothing_is_written(
    tool: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "n.ipynb"
    tool.write(small(tool, "a = 6", "a / 0"), path)
    before = path.read_bytes()
    assert tool.main([str(path)]) == 1
    said = capsys.readouterr().err.splitlines()
    assert said[-1].startswith("n.ipynb: cell 2: ZeroDivisionError: division by zero")
    assert path.read_bytes() == before


def test_a_stale_notebook_is_refused_and_left_alone(
    tool: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "n.ipynb"
    tool.write(small(tool, "6 * 7"), path)
    before = path.read_bytes()
    assert tool.main([str(path), "--check"]) == 1
    assert "stale: run `make notebook`" in capsys.readouterr().err
    assert path.read_bytes() == before


def test_the_notebook_says_the_same_from_a_fresh_catalog(tool: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert tool.main(["--check"]) == 0, capsys.readouterr().err


def test_without_a_database_the_embedded_catalog_is_read_and_that_is_said(tmp_path: Path) -> None:
    found = study.read()
    assert found.origin == study.reading.ORIGIN
    assert list(tmp_path.iterdir()) == []


def test_the_newest_day_of_the_data_is_counted_unless_another_is_asked_for(
    catalog: Path, reading: study.Reading
) -> None:
    lines = (ROOT / "data" / "catalog.jsonl").read_text(encoding="utf-8").splitlines()
    newest = max(json.loads(line)["facts_as_of"] for line in lines)
    assert study.newest_day(Store(catalog)) == date.fromisoformat(newest)
    assert reading.as_of == date.fromisoformat(newest)
    assert study.read(catalog, as_of=date(2024, 7, 31)).as_of == date(2024, 7, 31)
    assert reading.origin == "the database catalog.duckdb"


def test_a_frame_has_the_rows_of_the_table(reading: study.Reading) -> None:
    frame = reading.frame("figure_3", sample="paper")
    assert set(frame["sample"]) == {"paper"}
    assert frame["k"].sum() == frame["n"].iloc[0] == reading.study.sizes["paper"]
    assert len(reading.frame("figure_3")) == len(reading.table("figure_3").rows)
    assert reading.frame("agreement", items=True)["annotator"].nunique() > 1


def test_what_does_not_exist_is_refused_with_what_does(reading: study.Reading) -> None:
    with pytest.raises(InputError, match=r"'figure_77'.*figure_3"):
        reading.frame("figure_77")
    with pytest.raises(InputError, match=r"no column 'smaple'.*sample"):
        reading.frame("figure_3", smaple="paper")
    with pytest.raises(InputError, match="table_1 is a table"):
        reading.picture("table_1")


def test_a_picture_is_a_small_png(reading: study.Reading) -> None:
    picture = reading.picture("figure_3")
    assert picture.png.startswith(b"\x89PNG")
    assert picture == reading.picture("figure_3")
    assert len(picture.png) < 60_000
    assert repr(picture) == "picture of figure_3"


def test_claims_and_findings_are_all_there(reading: study.Reading) -> None:
    claims, said = reading.claims(), reading.findings()
    assert (
        len(claims)
        == len(reading.report.results)
        == reading.claims_by_basis().drop(columns="our figure rests on").sum().sum()
    )
    assert not claims[claims["impossible"]]["consistent"].any()
    assert len(said) == len(reading.outcomes)
    assert (said["insufficient data"] == "")[said["supported"]].all()
