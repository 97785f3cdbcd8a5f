"""The shipped encoder: its files are sealed, and one that is missing or another one is refused."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest

from helpers.rows import Item, store_of
from torch_embers import cli
from torch_embers.classify.embedding import shipped
from torch_embers.search.rules import SearchRules

if TYPE_CHECKING:
    from pathlib import Path

REPO = "pytorch/pytorch"
LIMIT = 30 * 2**20
"""Bytes that the encoder may add to the package."""


def test_the_shipped_encoder_is_small_sealed_licensed_and_rated() -> None:
    folder = shipped.folder()
    about = shipped.find(folder)
    assert about is not None
    assert about.model_id == shipped.model_id(about.graph_sha256)
    assert sum(path.stat().st_size for path in folder.iterdir()) < LIMIT
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert about.graph_sha256 in card
    assert about.tokens_sha256 in card
    assert "Apache-2.0" in card
    assert about.model_id.partition("/")[0] in {pair.model for pair in SearchRules.load().pairs}


@pytest.mark.parametrize(
    ("file", "change", "said"),
    [
        ("graph.onnx", lambda path: path.unlink(), "graph.onnx is missing"),
        ("about.json", lambda path: path.unlink(), "about.json is missing"),
        ("graph.onnx", lambda path: path.write_bytes(path.read_bytes()[:-1] + b"x"), "by their SHA-256"),
        ("tokenizer.json", lambda path: path.write_text("{}"), "by their SHA-256"),
        ("about.json", lambda path: path.write_text(path.read_text().replace("encoder@", "encoder@0")), "SHA-256"),
        ("about.json", lambda path: path.write_text("[" * 9_999), "by their SHA-256"),
    ],
)
def test_an_encoder_that_is_missing_or_another_one_is_refused_before_anything_is_written(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    database: Path,
    capsys: pytest.CaptureFixture[str],
    file: str,
    change: Any,
    said: str,
) -> None:
    copied = shutil.copytree(shipped.folder(), tmp_path / "copy")
    monkeypatch.setattr(shipped, "folder", lambda: copied)
    store_of(database, [Item(REPO, 1, title="wrong gradient")])
    before = database.read_bytes()
    change(copied / file)
    with pytest.raises(SystemExit) as end:
        cli.main(["classify", "--train", "--model", str(tmp_path / "made"), "--database", str(database)])
    assert end.value.code == 3
    [line] = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error: ")]
    assert said in line
    assert "reinstall torch-embers" in line
    assert database.read_bytes() == before
    assert not (tmp_path / "made").exists()
