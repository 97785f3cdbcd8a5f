"""The study's claims: what comes out on the catalog, each query on a database counted by hand, and the rules of verdicts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from helpers.claims import catalog, items, mini, of, run, study  # noqa: F401 - fixtures
from torch_embers.study.claims import claims_table, definitions, verdicts
from torch_embers.study.claims.verdicts import Frame

if TYPE_CHECKING:
    from pathlib import Path

    import duckdb
    import pytest


def test_a_database_that_holds_all_numbers_compares_shares_and_counts(mini: duckdb.DuckDBPyConnection) -> None:
    found = verdicts.evaluate(mini, definitions.load())
    assert found.frame == Frame(18, 18, census=True)
    assert of(found, "closed_issues").verdict == "differs"
    assert of(found, "closed_issues").why == "3089 printed, 6 by us"
    shares = of(found, "non_contiguous_share")
    assert shares.verdict == "agrees"  # 2 of 3 says little, and what it says does not contradict 30.2 %
    assert claims_table.ours(shares, selected=False).startswith("2 of 3: 66.7 % [20.8, 93.9], database")
    assert of(found, "memory_half_years").verdict == "differs"


def test_the_command_prints_every_claim_and_writes_the_same_files_twice(
    catalog: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    for folder in ("a", "b"):
        assert run("study", "claims", "--database", str(catalog), "--out", str(tmp_path / folder)) == 0
    printed = capsys.readouterr().out
    assert [c.id for c in definitions.load().claims if f"\n{c.id} " not in printed] == []
    assert "selected sample: " in printed
    for name in ("claims.csv", "claims.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    whole = json.loads((tmp_path / "a" / "claims.json").read_text(encoding="utf-8"))
    assert len(whole["claims"]) == sum(whole["verdicts"].values()) == len(definitions.load().claims)
    assert len((tmp_path / "a" / "claims.csv").read_text(encoding="utf-8").splitlines()) == len(whole["claims"]) + 1


def test_a_folder_that_cannot_be_written_to_is_one_clean_line(
    catalog: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert run("study", "claims", "--database", str(catalog), "--out", str(tmp_path / "file")) == 3
    assert "choose another folder with --out" in capsys.readouterr().err
