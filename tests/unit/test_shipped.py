"""The cases and verdicts that come with embers: the texts are those that ran; own verdicts are never taken for them."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

import pytest

from torch_embers import resources
from torch_embers.repro import case, shipped_matrix
from torch_embers.run import shipped_mark
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from pathlib import Path

COMMITTED = shipped_matrix.matrix()


@pytest.fixture
def mined(catalog_database: Path) -> Store:
    return Store(catalog_database)


# ---- the file ------------------------------------------------------------------------------------------------------


def test_every_case_is_the_one_whose_verdicts_are_shipped() -> None:
    known = {(row["case"], row["case_hash"]) for row in COMMITTED}
    changed = [one.name for one in case.shipped() if (one.name, one.hash) not in known]
    assert not changed, f"run these on all builds, then `embers matrix --csv`: {changed}"


def test_no_detectable_rate_stands_beside_an_injected_fault() -> None:
    rates = {row["control"]: row["detectable_rate"] for row in COMMITTED if row["verdict"] in ("absent", "not_seen")}
    assert {kind: bool(rate) for kind, rate in rates.items()} == {"build": True, "planted": False}
    assert not [row["case"] for row in COMMITTED if row["control"] == "planted" and row["detectable_rate"]]


def test_another_text_of_a_shipped_file_is_noticed(mined: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipped_mark, "_of_files", lambda: b"other")
    assert not shipped_mark.is_current(mined)


@pytest.mark.parametrize("name", ["run/verdict.py", "repro/fix_tests/cases.py", "run/matrix.sql"])
def test_code_in_subfolders_counts_as_shipped(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "PACKAGE_DIR", tmp_path)
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    path.write_text("before")
    before = shipped_mark._of_files.__wrapped__()
    path.write_text("after")
    assert shipped_mark._of_files.__wrapped__() != before


def test_cases_stay_absent_with_the_capability_of_their_control_forced() -> None:
    known = {(row["case"], row["build"], row["case_hash"]): row["verdict"] for row in COMMITTED}
    forced = list(csv.DictReader(resources.analysis_text(*shipped_matrix.FORCED).splitlines()))
    on_avx2 = [row for row in forced if row["capability"] == "AVX2"]
    assert {known[row["case"], row["build"], row["case_hash"]] for row in forced} == {"absent"}
    assert [(row["case"], row["build"]) for row in on_avx2 if row["verdict"] != "absent"] == []
    assert {row["case"] for row in on_avx2} <= shipped_matrix.settled()


CLOSINGS: list[dict[str, Any]] = resources.load_toml("closings.toml")["closing"]
SHOWING = {one.name: one for one in case.shipped("closing")}
CASES = [one["case"] for one in CLOSINGS if "case" in one]


def test_each_closing_has_a_case_with_what_was_said_or_a_reason() -> None:
    for one in CLOSINGS:
        assert ("case" in one) is not ("reason" in one), one["number"]
        assert ("said" in one) is ("said_on" in one), one["number"]
        assert "case" not in one or "said" in one, one["number"]
    assert sorted(CASES) == sorted(SHOWING)


def test_a_case_is_of_its_issue_and_states_where_it_was_seen() -> None:
    lines = list(csv.DictReader(resources.analysis_text("results", "closings.csv").splitlines()))
    for one in (one for one in CLOSINGS if "case" in one):
        shown = SHOWING[one["case"]]
        assert shown.issues == (("pytorch/pytorch", one["number"]),)
        rows = [row for row in lines if row["case"] == shown.name]
        assert {row["case_hash"] for row in rows} == {shown.hash}, "the case has changed since it was run: run it again"
        assert list(shown.known_bad) == [row["build"] for row in rows if row["verdict"] == "occurs"]
