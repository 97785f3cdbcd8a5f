"""How trained classifiers are kept: nothing in a file is executed, and a folder that was changed is refused."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("sklearn")

from helpers.kept import folder, made  # noqa: F401 - fixtures
from torch_embers.classify.bundle import FILE, Bundle
from torch_embers.classify.card import files
from torch_embers.classify.learning import kept
from torch_embers.classify.learning.features import Terms

if TYPE_CHECKING:
    from pathlib import Path


def test_terms_are_kept_as_one_text_however_many_they_are(tmp_path: Path) -> None:
    objects = []
    for size in (10, 10_000):
        own = Terms().fit([" ".join(f"op_{number}" for number in range(size)) + ' "quoted" naïve'])
        (tmp_path / "kept.skops").write_bytes(kept.estimators_bytes({"features": own}))
        with zipfile.ZipFile(tmp_path / "kept.skops") as packed:
            objects.append(packed.read("schema.json").count(b"__loader__"))
        again = kept.read_estimators(tmp_path / "kept.skops")["features"]
        assert again.vocabulary_ == own.vocabulary_
    assert objects[0] == objects[1]


def test_equal_training_gives_equal_files(made: Bundle, folder: Path, tmp_path: Path) -> None:
    made.save(tmp_path / "two", files(made))
    for name in (FILE, *files(made)):
        assert (folder / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
