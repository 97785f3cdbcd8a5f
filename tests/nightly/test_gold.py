"""Gold: what several annotators said, brought to one answer by one rule; and the questions that it answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_embers.classify.labels import gold
from torch_embers.store.records import Batch, CatalogEntry, GoldLabel
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from pathlib import Path

REPO = "o/r"


# ---- the database --------------------------------------------------------------------------------------------------


def test_gold_is_read_with_the_backends_of_the_catalog_unless_a_person_says_better(database: Path) -> None:
    store = Store(database)
    labels = [
        GoldLabel(REPO, 1, "bug_type", "memory", "automated", "a"),
        GoldLabel(REPO, 2, "backend", "cuda", "human", "h"),
    ]
    entries = [CatalogEntry(REPO, number, "What happened.", backends=("cpu", "mps")) for number in (1, 2)]
    with store.writer("test", create=True) as writer:
        writer.commit(Batch(gold_labels=labels, catalog=entries))
    one, two = gold.load(store)
    assert one.labels == {"bug_type": "memory"}
    assert one.answers == {"bug_type": {"memory"}, "backend": {"cpu", "mps"}}
    assert one.annotators == {"bug_type": "automated:a", "backend": "automated:catalog"}
    assert two.answers == {"backend": {"cuda"}}
