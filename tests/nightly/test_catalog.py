"""The embedded catalog: valid by the guide's classes, complete where the study and the seeds name bugs, in our words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from helpers.catalog import (
    REPO,
    rows,
    store,  # noqa: F401 - fixtures
)
from torch_embers.mine.runner import mine_catalog, replay
from torch_embers.store.records import Batch
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from pathlib import Path


def test_catalog_facts_do_not_overwrite_what_a_live_source_said(tmp_path: Any) -> None:
    from torch_embers.store.records import Item

    store = Store(tmp_path / "e.duckdb")
    live = Item(REPO, 118115, title="live", state="open", labels=("x",), updated_at="2020-01-01T00:00:00Z")
    with store.writer("test", create=True) as writer:
        writer.commit(Batch(items=[live]))
    mine_catalog(store, REPO)
    [(title, state, names)] = rows(store, "SELECT title, state, labels FROM items WHERE number = 118115")
    assert (title, state, names) == ("live", "open", ["x"])


def test_a_replay_gives_the_same_tables(catalog_database: Path) -> None:
    store = Store(catalog_database)
    tables = ("items", "catalog", "gold_labels", "stated_links", "pull_files", "links", "components")
    before = {t: sorted(map(str, rows(store, f"FROM {t}"))) for t in tables}
    replay(store)
    assert {t: sorted(map(str, rows(store, f"FROM {t}"))) for t in tables} == before
