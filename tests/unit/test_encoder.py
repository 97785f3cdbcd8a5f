"""The shipped encoder: nothing that is measured was learned from, its files are sealed, and each classifier keeps its own."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.encoder import (
    TOOL,
    asked,  # noqa: F401 - fixtures
)
from torch_embers import resources
from torch_embers.classify.embedding import embed, prepared, shipped, weights
from torch_embers.errors import InputError
from torch_embers.search.rules import SearchRules
from torch_embers.settings import DEFAULT_EMBEDDER, SHIPPED_EMBEDDER

if TYPE_CHECKING:
    from pathlib import Path
for module in ("excluded", "pairs", "command"):
    importlib.import_module(f"embers_encoder.{module}")
LIMIT = 30 * 2**20
"""Bytes that the encoder may add to the package."""


# ---- what is never learned from -------------------------------------------------------------------------------------


def test_an_excluded_title_is_known_with_another_tag_number_case_or_word() -> None:
    barred = TOOL.excluded.Excluded.of([7], ["[MPS] addcmul ignores the output when it is strided (#12)"])
    assert barred.title("addcmul ignores the output when it is strided")
    assert barred.title("[cuda] Addcmul: ignores the output, when it is strided (#99)")
    assert barred.title("addcmul_ ignores the output when it's strided")
    assert not barred.title("addcmul is slow")
    assert barred.item(7, "anything")
    assert barred.item(8, "a fix", "Fixes #7")
    assert barred.item(8, "a fix", "see https://github.com/pytorch/pytorch/issues/7")
    assert barred.item(8, "a fix", "The report: addcmul ignores the output, when it is strided.")
    assert not barred.item(8, "a fix", "Fixes #77")


@given(st.lists(st.text(max_size=60), max_size=5), st.text(max_size=200))
def test_any_text_can_be_asked_for_and_an_excluded_title_is_always_known(titles: list[str], text: str) -> None:
    barred = TOOL.excluded.Excluded.of([], titles)
    barred.item(1, text, text)
    assert all(barred.title(title) for title in titles if TOOL.excluded.words(title))


# ---- the shipped files ----------------------------------------------------------------------------------------------


def test_the_shipped_encoder_is_small_sealed_licensed_and_rated() -> None:
    folder = shipped.folder()
    about = prepared.find(folder)
    assert about is not None
    assert about.model_id == shipped.model_id(about.graph_sha256)
    assert sum(path.stat().st_size for path in folder.iterdir()) < LIMIT
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert about.graph_sha256 in card
    assert about.tokens_sha256 in card
    assert "Apache-2.0" in card
    assert about.model_id.partition("/")[0] in {pair.model for pair in SearchRules.load().pairs}


def test_the_shipped_encoder_knows_what_belongs_together() -> None:
    embedder = embed.load_embedder(threads=1)
    assert embedder.model_id.startswith(f"{SHIPPED_EMBEDDER}@")
    stride, layout, loader = embedder.encode(
        ["wrong gradient for a strided input", "incorrect grad when the tensor is not contiguous", "DataLoader hangs"]
    )
    assert stride @ layout > stride @ loader + 0.1
    assert np.isclose(np.linalg.norm(stride), 1, atol=1e-5)


def test_an_installation_without_the_encoder_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(resources, "CHECKOUT_DIR", tmp_path)
    monkeypatch.setattr(resources, "SHIPPED_DIR", tmp_path)
    with pytest.raises(InputError, match="tracker-encoder is missing from this installation"):
        shipped.folder()


@pytest.mark.parametrize(
    ("model", "loaded"),
    [
        ("all-MiniLM-L6-v2@53aa51172d14", weights.DEFAULT_MODEL),
        (f"{SHIPPED_EMBEDDER}@0123456789ab/int8-1", SHIPPED_EMBEDDER),
        ("something@0", DEFAULT_EMBEDDER),
        ("", DEFAULT_EMBEDDER),
    ],
)
def test_a_classifier_or_a_database_is_read_with_its_own_encoder(asked: list[str], model: str, loaded: str) -> None:
    embed.load_matching(model)
    assert asked == [loaded]


def test_a_setting_outranks_the_encoder_of_a_classifier(asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMBERS_EMBEDDER", "nobody/else")
    embed.load_matching("all-MiniLM-L6-v2@53aa51172d14")
    assert asked == ["nobody/else"]
