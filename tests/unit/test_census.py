"""The census of merges: what is counted on a merged history, and that nothing is counted without one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from torch_embers.errors import InputError
from torch_embers.progress import Silent
from torch_embers.store.store import Store
from torch_embers.study import census, command
from torch_embers.study.claims import definitions

if TYPE_CHECKING:
    from pathlib import Path


def test_claims_that_a_history_decides_are_marked_in_the_data() -> None:
    marked = {claim.id: claim.census for claim in definitions.load().claims if claim.census}
    assert set(marked.values()) == {"patches", "lines", "majority", "leaders"}
    assert {name for name, kind in marked.items() if kind == "majority"} == {"data_path_majority"}


def test_without_a_history_a_census_that_was_asked_for_is_an_error(tmp_path: Path) -> None:
    store = Store(tmp_path / "e.duckdb")
    with store.writer("test", create=True):
        pass
    assert census.of_store(store) is None
    with pytest.raises(InputError, match="embers mine --source git"):
        command.run(store, ["census"], tmp_path / "out", Silent())
