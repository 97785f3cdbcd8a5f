"""The stage behind `embers classify`: bundles that cannot be tampered with, a fresh machine's labels, what decides them."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from support import assert_clean_error, run_embers
from torch_embers.classify.bundle import Bundle, shipped_folder
from torch_embers.classify.learning.kept import ModelError

if TYPE_CHECKING:
    from pathlib import Path

# ---- bundles -------------------------------------------------------------------------------------------------------


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """A copy of the shipped classifier."""
    return shutil.copytree(shipped_folder(), tmp_path / "model")


def test_what_it_learned_from_is_counted_for_readers() -> None:
    said = (shipped_folder() / "TRAINING.md").read_text(encoding="utf-8")
    assert "| bug_type | gold:paper:data-path-study | 27 |" in said


@pytest.mark.parametrize("name", sorted(path.name for path in shipped_folder().iterdir()))
def test_a_shipped_file_with_another_byte_is_refused(bundle: Path, name: str) -> None:
    content = (bundle / name).read_bytes()
    (bundle / name).write_bytes(content[:-2] + bytes([content[-2] ^ 1]) + content[-1:])
    with pytest.raises(ModelError, match=name):
        Bundle.load(bundle)


def test_without_a_database_the_next_step_is_named(tmp_path: Path) -> None:
    done = run_embers("classify", "--database", str(tmp_path / "none.duckdb"), HF_HUB_OFFLINE="1")
    assert_clean_error(done, 5, "embers mine")
