"""Closings as not reproduced: each is run or says why not, and its case shows on which releases what it states."""

from __future__ import annotations

import csv
from typing import Any

import pytest

from torch_embers import resources
from torch_embers.repro.case import load

CLOSINGS: list[dict[str, Any]] = resources.load_toml("closings.toml")["closing"]
FOLDER = resources.data_file("closings.toml").parent / "closing_cases"
CASES = [one["case"] for one in CLOSINGS if "case" in one]


def test_each_closing_has_a_case_with_what_was_said_or_a_reason() -> None:
    for one in CLOSINGS:
        assert ("case" in one) is not ("reason" in one), one["number"]
        assert ("said" in one) is ("said_on" in one), one["number"]
        assert "case" not in one or "said" in one, one["number"]
    assert sorted(CASES) == sorted(path.stem for path in FOLDER.glob("*.py"))


@pytest.mark.parametrize("one", [one for one in CLOSINGS if "case" in one], ids=CASES)
def test_a_case_is_of_its_issue_and_states_where_it_was_seen(one: dict[str, Any]) -> None:
    case = load(FOLDER / f"{one['case']}.py")
    assert case.issues == (("pytorch/pytorch", one["number"]),)
    lines = csv.DictReader(resources.analysis_text("results", "closings.csv").splitlines())
    rows = [row for row in lines if row["case"] == case.name]
    assert {row["case_hash"] for row in rows} == {case.hash}, "the case has changed since it was run: run it again"
    assert list(case.known_bad) == [row["build"] for row in rows if row["verdict"] == "occurs"]
