"""Closings as not reproduced: each is run or says why not, and its case shows on which releases what it states."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

from torch_embers import resources

CLOSINGS: list[dict[str, Any]] = resources.load_toml("closings.toml")["closing"]
FOLDER = resources.data_file("closings.toml").parent / "closing_cases"
CASES = [one["case"] for one in CLOSINGS if "case" in one]


@pytest.mark.parametrize("name", CASES)
def test_an_injected_fault_is_noticed(name: str) -> None:
    pytest.importorskip("torch")
    done = subprocess.run(
        [sys.executable, FOLDER / f"{name}.py"],
        env=os.environ | {"EMBERS_PLANT": "1"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout
