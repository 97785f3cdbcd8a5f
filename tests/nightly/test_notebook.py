"""The notebook: executed in order, reproducible, without hidden state or numbers typed by hand; and what it stands on."""

from __future__ import annotations

import ast
import builtins
import copy
import json
import re
import subprocess
import sys
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
LONGEST = 15
LARGEST = 1_500_000
FROM_THE_KERNEL = {"display"}
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
def catalog(catalog_template: Path) -> Path:
    """A database of the embedded catalog."""
    return catalog_template


@pytest.fixture(scope="module")
def reading(catalog: Path) -> study.Reading:
    return study.read(catalog)


def code(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def small(tool: ModuleType, *sources: str) -> Any:
    """A notebook of these cells, with tidy metadata and nothing executed."""
    cells = [nbformat.v4.new_code_cell(source, id=f"cell-{place}") for place, source in enumerate(sources)]
    return tool.tidy(nbformat.v4.new_notebook(cells=cells))


# --- the committed file --------------------------------------------------------------------------------------------


def test_every_cell_was_executed_once_and_in_order(notebook: Any) -> None:
    assert [cell.execution_count for cell in code(notebook)] == list(range(1, len(code(notebook)) + 1))
    for place, cell in enumerate(code(notebook), start=1):
        for output in cell.outputs:
            assert output.get("execution_count", place) == place


def test_no_cell_failed_or_warned(notebook: Any) -> None:
    kinds = {output.output_type for cell in code(notebook) for output in cell.outputs}
    assert kinds <= {"display_data", "execute_result"}


def test_the_file_is_valid_and_of_modest_size(notebook: Any) -> None:
    nbformat.validate(notebook)
    assert NOTEBOOK.stat().st_size < LARGEST


def test_nothing_in_it_differs_from_run_to_run(notebook: Any, tool: ModuleType) -> None:
    assert tool.tidy(copy.deepcopy(notebook)) == notebook
    text = NOTEBOOK.read_text(encoding="utf-8")
    assert not re.search(r"0x[0-9a-f]{6,}|\d\d:\d\d:\d\d", "".join(t for c in code(notebook) for t in tool.texts(c)))
    assert '"iopub' not in text


def test_no_path_of_a_machine_is_in_it(notebook: Any, tool: ModuleType) -> None:
    said = [cell.source for cell in notebook.cells] + [text for cell in code(notebook) for text in tool.texts(cell)]
    assert [found for text in said for found in MACHINE_PATH.findall(text)] == []


def test_cells_of_code_are_short(notebook: Any) -> None:
    assert [c.source for c in code(notebook) if len(c.source.splitlines()) > LONGEST] == []


def test_no_number_of_the_prose_is_typed_by_hand(notebook: Any) -> None:
    named = re.compile(r"Figures? \d+(?: (?:and|to) \d+)?")
    prose = [named.sub("", cell.source) for cell in notebook.cells if cell.cell_type == "markdown"]
    assert [text for text in prose if re.search(r"\d", text)] == []


def test_a_cell_uses_only_names_of_cells_before_it(notebook: Any) -> None:
    known = set(dir(builtins)) | FROM_THE_KERNEL
    for cell in code(notebook):
        tree = ast.parse(cell.source)
        known |= defined(tree)
        assert used(tree) - known == set(), cell.source


def defined(tree: ast.AST) -> set[str]:
    """Names that code binds anywhere."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.alias):
            found.add((node.asname or node.name).split(".")[0])
    return found


def used(tree: ast.AST) -> set[str]:
    """Names that code reads."""
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}


def test_every_figure_of_the_paper_and_every_table_is_shown(notebook: Any) -> None:
    text = "\n".join(cell.source for cell in code(notebook))
    wanted = [*(f"figure_{n}" for n in range(1, 8)), "table_1", "table_2", "funnel", "agreement", "prevalence"]
    assert [name for name in wanted if f'"{name}"' not in text] == []


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


def test_an_output_that_is_gone_is_told(tool: ModuleType) -> None:
    old = small(tool, "1")
    old.cells[0].outputs = [nbformat.v4.new_output("stream", text="said\n")]
    assert tool.differences(old, small(tool, "1"))[0] == "cell 1:"


@pytest.mark.parametrize("name", ["EMBERS_REPO", "EMBERS_DATABASE", "EMBERS_TOKENS"])
def test_the_kernel_sees_no_setting_of_the_user(
    tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "mine")
    assert tool.environment(tmp_path).get(name) != "mine"


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


# --- what it stands on ---------------------------------------------------------------------------------------------


def test_importing_the_study_costs_nothing() -> None:
    heavy = "{'pandas', 'numpy', 'matplotlib', 'duckdb', 'torch', 'scipy', 'pyarrow'}"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys, torch_embers.study; print(sorted({heavy} & set(sys.modules)))"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"


def test_a_database_that_was_named_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(StoreMissingError, match="no database at"):
        study.read(tmp_path / "none.duckdb")


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


def test_text_from_outside_is_shown_as_it_is() -> None:
    import pandas as pd

    shown = study.as_shown(pd.DataFrame({"title": ["<script>alert(1)</script>"]}))
    assert "<script>" not in shown._repr_html_()
    assert "&lt;script&gt;" in shown._repr_html_()


def test_counts_with_gaps_stay_counts_and_missing_values_are_dashes() -> None:
    import pandas as pd

    shown = study.as_shown(pd.DataFrame({"k": [3.0, None], "share": [4.0, 2.25], "is": [True, False]})).frame
    assert shown["k"].tolist() == ["3", "-"]
    assert shown["share"].tolist() == ["4.0", "2.2"]
    assert shown["is"].tolist() == ["yes", "no"]


@pytest.mark.slow
def test_the_experiments_are_shown_with_their_day_and_machine() -> None:
    found = study.experiments()
    assert [picture.name for picture in found.pictures] == ["figure_8", "figure_9"]
    assert all(picture._repr_png_().startswith(b"\x89PNG") for picture in found.pictures)
    assert "Measured on 2" in found.where
    assert {line.partition(" ")[0] for line in found.finding} == {"Figure"}
