"""The committed results of the study are what the embedded catalog gives, and what docs/study.md shows."""

from __future__ import annotations

import csv
import json
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from torch_embers.store.store import Store
from torch_embers.study import findings, samples
from torch_embers.study.claims import claims_table, definitions, verdicts
from torch_embers.study.figures.make import make

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
    with Store(catalog_template).read() as connection:
        return make(connection, samples.load(date.fromisoformat(COMMITTED["as_of"])))


def test_committed_results_are_those_of_the_catalog(study: Study) -> None:
    """Their tables are a promise."""
    outcomes = findings.decide(study)
    made = findings.record(study, outcomes)
    for name in ("frame", "samples", "findings", "items", "paper_ends"):
        assert made[name] == COMMITTED[name], name
    assert any(outcome.supported for outcome in outcomes)
    assert not [one.finding.id for one in outcomes if one.finding.scope == "tracker" and one.supported], (
        "a selected sample"
    )


def test_committed_claims_are_those_of_the_catalog(catalog_template: Path, tmp_path: Path) -> None:
    with Store(catalog_template).read() as connection:
        report = verdicts.evaluate(connection, definitions.load())
    for path in claims_table.write(report, tmp_path):
        assert path.read_bytes() == (RESULTS / path.name).read_bytes(), "make study, then make docs"
    shares = [r for r in report.results if r.ours and r.ours.basis == "database" and r.ours.n is not None]
    assert shares
    for result in shares:
        assert result.verdict == "cannot_be_compared" or result.why.startswith("impossible")
        assert "selected" in claims_table.ours(result, selected=True)


@pytest.mark.parametrize("folder", ["", "datasets"])
def test_every_table_and_figure_has_its_data_and_every_figure_its_picture(folder: str) -> None:
    for entry in COMMITTED["figures"]:
        with (RESULTS / folder / f"{entry['id']}.csv").open(encoding="utf-8", newline="") as file:
            assert len(list(csv.DictReader(file))) > 0 or entry["id"] == CORRECTED
    pictures = {path.stem for path in (RESULTS / folder).glob("*.svg")}
    assert {f"figure_{n}" for n in range(1, 8)} <= pictures
    assert folder or {"figure_8", "figure_9"} <= pictures
