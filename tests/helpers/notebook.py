"""What the tests in test_notebook.py share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import support

if TYPE_CHECKING:
    from types import ModuleType

nbformat = pytest.importorskip("nbformat", reason="the extra `study` is not installed")

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "notebooks" / "study.ipynb"


@pytest.fixture(scope="module")
def notebook() -> Any:
    """The committed notebook."""
    return nbformat.read(NOTEBOOK, as_version=4)


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    """tools/notebook.py as a module."""
    return support.tool("notebook")


def small(tool: ModuleType, *sources: str) -> Any:
    """A notebook of these cells, with tidy metadata and nothing executed."""
    cells = [nbformat.v4.new_code_cell(source, id=f"cell-{place}") for place, source in enumerate(sources)]
    return tool.tidy(nbformat.v4.new_notebook(cells=cells))
