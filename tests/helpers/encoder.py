"""What the tests in test_encoder.py share."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import pytest

import support
from helpers.search import Words
from torch_embers import resources
from torch_embers.classify.embedding import embed

TOOL: Any = support.tool("encoder")
for module in ("excluded", "pairs", "command"):
    importlib.import_module(f"embers_encoder.{module}")
sys.path.insert(0, str(resources.CHECKOUT_DIR / "bench"))


# ---- which encoder belongs to what ----------------------------------------------------------------------------------


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """The names of the models that were loaded."""
    names: list[str | None] = []

    def load(name: str | None = None, **_: object) -> Words:
        names.append(name)
        return Words()

    monkeypatch.setattr(embed, "load_embedder", load)
    return names
