"""What the tests in test_kept.py share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("sklearn")

from labelled import examples, items
from torch_embers.classify.bundle import Bundle, HeldOut, TrainingRow
from torch_embers.classify.card import files
from torch_embers.classify.learning.model import Classifier

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def made() -> Bundle:
    texts, labels = examples(8)
    one = Classifier("consequence", votes={"title-segfault": "crash"})
    one.fit(items(texts, votes=[["title-segfault"] if "segfault" in text else [] for text in texts]), labels)
    rows = (TrainingRow("o/r", 1, "crash", 1.0, "gold:human:h"),)
    held_out = (HeldOut("o/r", 1, (0.5, 0.25, 0.25)),)
    return Bundle(
        "made", "title", "words@0", "0", {"consequence": one}, {"consequence": held_out}, {"consequence": rows}
    )


@pytest.fixture
def folder(made: Bundle, tmp_path: Path) -> Path:
    made.save(tmp_path / "m", files(made))
    return tmp_path / "m"
