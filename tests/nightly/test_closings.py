"""Closings as not reproduced: each is run or says why not, and its case shows on which releases what it states."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from torch_embers import resources

if TYPE_CHECKING:
    from pathlib import Path

CASES = sorted((resources.data_file("closings.toml").parent / "closing_cases").glob("*.py"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_an_injected_fault_is_noticed(path: Path) -> None:
    pytest.importorskip("torch")
    planted = os.environ | {"EMBERS_PLANT": "1"}
    done = subprocess.run([sys.executable, path], env=planted, capture_output=True, check=False)
    assert done.returncode == 1, done.stdout
