"""The committed results of the study are what the embedded catalog gives, and what docs/study.md shows."""

from __future__ import annotations

import csv
import json
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from torch_embers.store.store import Store
from torch_embers.study import command, files, findings, results
from torch_embers.study.figures.table import cell

if TYPE_CHECKING:
    from torch_embers.study.figures.make import Study

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "analysis" / "results"
COMMITTED = json.loads((RESULTS / "study.json").read_text(encoding="utf-8"))
CORRECTED = "prevalence"
"""Says something else once the classifier has run, and rests on drawn numbers."""


@pytest.fixture(scope="module")
def study(catalog_template: Path) -> Study:
    """The study on the catalog alone, as of the day of the committed results."""
    return command.counted(Store(catalog_template), date.fromisoformat(COMMITTED["as_of"]))


@pytest.mark.parametrize("name", [e["id"] for e in COMMITTED["figures"] if e["id"] != CORRECTED])
def test_committed_tables_are_those_of_the_catalog(study: Study, name: str) -> None:
    made = files.as_csv(study.table(name).rows, cell)
    assert made == (RESULTS / f"{name}.csv").read_text(encoding="utf-8"), "make study, then make docs"


def test_the_committed_record_is_that_of_the_catalog(study: Study) -> None:
    made = results.record(study, findings.decide(study))
    for name in ("frame", "samples", "findings", "items", "paper_ends"):
        assert made[name] == COMMITTED[name], name


@pytest.mark.parametrize("folder", ["", "datasets"])
def test_every_table_and_figure_has_its_data_and_every_figure_its_picture(folder: str) -> None:
    for entry in COMMITTED["figures"]:
        with (RESULTS / folder / f"{entry['id']}.csv").open(encoding="utf-8", newline="") as file:
            assert len(list(csv.DictReader(file))) > 0 or entry["id"] == CORRECTED
    pictures = {path.stem for path in (RESULTS / folder).glob("*.svg")}
    assert {f"figure_{n}" for n in range(1, 8)} <= pictures
    assert folder or {"figure_8", "figure_9"} <= pictures


def test_a_figure_of_a_selected_sample_says_so_under_it() -> None:
    for entry in COMMITTED["figures"]:
        said = " ".join(entry["notes"])
        assert "selected" in said or "case" in said or "no sample" in said or entry["id"] == "figure_1", entry["id"]
