"""The notebook: executed in order, reproducible, without hidden state or numbers typed by hand; and what it stands on."""

from __future__ import annotations

import copy
import json
import re
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import support
from torch_embers import study
from torch_embers.errors import InputError, StoreMissingError
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from types import ModuleType

nbformat = pytest.importorskip("nbformat", reason="the extra `study` is not installed")

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "notebooks" / "study.ipynb"
MACHINE_PATH = re.compile(r"(?<![\w.:/<])/(?:home|root|tmp|work|usr|var|opt|mnt|Users|private)/|\b[A-Z]:\\\\?\w")


@pytest.fixture(scope="module")
def notebook() -> Any:
    """The committed notebook."""
    return nbformat.read(NOTEBOOK, as_version=4)


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    """tools/notebook.py as a module."""
    return support.tool("notebook")


@pytest.fixture(scope="module")
def reading(catalog_template: Path) -> study.StudyResults:
    return study.read(catalog_template)


def code(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def small(tool: ModuleType, *sources: str) -> Any:
    """A notebook of these cells, with tidy metadata and nothing executed."""
    cells = [nbformat.v4.new_code_cell(source, id=f"cell-{place}") for place, source in enumerate(sources)]
    return tool.tidy(nbformat.v4.new_notebook(cells=cells))


# --- the committed file --------------------------------------------------------------------------------------------


def test_every_cell_was_executed_once_in_order_and_well(notebook: Any) -> None:
    assert [cell.execution_count for cell in code(notebook)] == list(range(1, len(code(notebook)) + 1))
    kinds = {output.output_type for cell in code(notebook) for output in cell.outputs}
    assert kinds <= {"display_data", "execute_result"}, "no cell failed or warned"
    nbformat.validate(notebook)


def test_nothing_in_it_differs_from_run_to_run(notebook: Any, tool: ModuleType) -> None:
    assert tool.tidy(copy.deepcopy(notebook)) == notebook
    text = NOTEBOOK.read_text(encoding="utf-8")
    assert not re.search(r"0x[0-9a-f]{6,}|\d\d:\d\d:\d\d", "".join(t for c in code(notebook) for t in tool.texts(c)))
    assert '"iopub' not in text
    said = [cell.source for cell in notebook.cells] + [text for cell in code(notebook) for text in tool.texts(cell)]
    assert [found for text in said for found in MACHINE_PATH.findall(text)] == [], "a path of a machine"


def test_no_number_of_the_prose_is_typed_by_hand(notebook: Any) -> None:
    named = r"Figures? \d+(?: (?:and|to) \d+)?"
    prose = [re.sub(named, "", cell.source) for cell in notebook.cells if cell.cell_type == "markdown"]
    assert [text for text in prose if re.search(r"\d", text)] == []


# --- the tool ------------------------------------------------------------------------------------------------------


def test_another_number_is_told_with_its_cell(tool: ModuleType) -> None:
    old = small(tool, "1", "2")
    for cell, said in zip(old.cells, ("3 bugs", "44 %"), strict=True):
        cell.outputs = [nbformat.v4.new_output("execute_result", {"text/plain": said, "image/png": "AAAA"})]
    new = copy.deepcopy(old)
    assert tool.differences(old, new) == []
    new.cells[0].outputs[0]["data"]["image/png"] = "BBBB"
    assert tool.differences(old, new) == []
    new.cells[1].outputs[0]["data"]["text/plain"] = "45 %"
    assert tool.differences(old, new) == ["cell 2:", "@@ -1 +1 @@", "-44 %", "+45 %"]
    new.cells[1].outputs = []
    assert tool.differences(old, new)[0] == "cell 2:"


def test_the_kernel_sees_no_user_settings(tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("EMBERS_REPO", "EMBERS_DATABASE", "EMBERS_TOKENS"):
        monkeypatch.setenv(name, "mine")
    assert "mine" not in tool.environment(tmp_path).values()


def test_a_stale_notebook_is_told_and_one_is_executed_and_written_whole(
    tool: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "n.ipynb"
    tool.write(small(tool, "a = 6", "a * 7"), path)
    before = path.read_bytes()
    assert tool.main([str(path), "--check"]) == 1
    assert "stale: run `make notebook`" in capsys.readouterr().err
    assert path.read_bytes() == before
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


def test_the_notebook_says_the_same_from_a_fresh_catalog(tool: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert tool.main(["--check"]) == 0, capsys.readouterr().err


# --- what it stands on ---------------------------------------------------------------------------------------------


def test_the_newest_day_of_the_data_is_counted_by_default(catalog_template: Path, reading: study.StudyResults) -> None:
    lines = (ROOT / "data" / "catalog.jsonl").read_text(encoding="utf-8").splitlines()
    newest = max(json.loads(line)["facts_as_of"] for line in lines)
    assert study.newest_day(Store(catalog_template)) == date.fromisoformat(newest)
    assert reading.as_of == date.fromisoformat(newest)
    assert study.read(catalog_template, as_of=date(2024, 7, 31)).as_of == date(2024, 7, 31)
    assert reading.origin == "the database catalog.duckdb"
    assert study.read().origin == study.notebook.ORIGIN, "without a database the embedded catalog is read"


def test_a_frame_has_the_rows_of_the_table(reading: study.StudyResults) -> None:
    frame = reading.frame("figure_3", sample="paper")
    assert set(frame["sample"]) == {"paper"}
    assert frame["k"].sum() == frame["n"].iloc[0] == reading.study.sizes["paper"]
    assert len(reading.frame("figure_3")) == len(reading.table("figure_3").rows)
    assert reading.frame("agreement", items=True)["annotator"].nunique() > 1
    assert len(reading.claims()) == len(reading.report.results)
    assert len(reading.findings()) == len(reading.outcomes)
    assert reading.picture("figure_3").png.startswith(b"\x89PNG")


def test_what_does_not_exist_or_is_damaged_is_refused_with_what_does(
    reading: study.StudyResults, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=r"'figure_77'.*figure_3"):
        reading.frame("figure_77")
    with pytest.raises(InputError, match=r"no column 'smaple'.*sample"):
        reading.frame("figure_3", smaple="paper")
    with pytest.raises(InputError, match="table_1 is a table"):
        reading.picture("table_1")
    with pytest.raises(StoreMissingError, match="no database at"):
        study.read(tmp_path / "none.duckdb")


def test_text_from_outside_is_shown_as_it_is() -> None:
    import pandas as pd

    counts = {"k": [3.0, None], "share": [4.0, 2.25], "is": [True, False]}
    frame = study.as_shown(pd.DataFrame(counts)).frame
    assert frame.to_numpy().tolist() == [["3", "4.0", "yes"], ["-", "2.2", "no"]], "counts stay counts"
    shown = study.as_shown(pd.DataFrame({"title": ["<script>alert(1)</script>"]}))
    assert "<script>" not in shown._repr_html_()
    assert "&lt;script&gt;" in shown._repr_html_()
