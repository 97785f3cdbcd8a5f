"""The verdicts that come with embers: in every mined database, beside own ones, never taken for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

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
